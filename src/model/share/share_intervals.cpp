// The intervals of ShareForecaster.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "model/share/leave_one_out.hpp"
#include "model/share/share_forecaster.hpp"

namespace carpool::model {
namespace {

// Log discrepancy of a group that is e times larger than any trained on (equal to the given noise).
constexpr double kSizeDiscrepancy = 0.2;
// Under the turn law, in units of the noise of its fit, which tells how well the law holds for this
// GPU: of any size never trained on, and of one that is e times larger.
constexpr double kNewSizeDiscrepancy = 1.5;
constexpr double kTurnSizeDiscrepancy = 2.0;

// Covariance of the members' log throughput from that of their parameters. slopes(i, a): of member
// i on the parameters of member a; between(a, b): covariance of the parameters of two members.
template <int Parameters, typename Slopes, typename Between>
Eigen::MatrixXd propagate(std::size_t size, const Slopes& slopes, const Between& between) {
  using Row = Eigen::Matrix<double, 1, Parameters>;
  std::vector<Row> rows(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t a = 0; a < size; ++a) {
      rows[i * size + a] = slopes(i, a);
    }
  }
  const auto count = static_cast<Eigen::Index>(size);
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(count, count);
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b < size; ++b) {
      const Eigen::Matrix<double, Parameters, Parameters> covariance = between(a, b);
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) {
          out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) +=
              rows[i * size + a].dot(covariance * rows[j * size + b].transpose());
        }
      }
    }
  }
  return out;
}

// The sum of correlated log-normal throughputs as one log-normal (Fenton and Wilkinson).
Interval interval_of_sum(const GroupForecast& forecast, const Eigen::MatrixXd& covariance) {
  double first = 0.0;
  double second = 0.0;
  std::vector<double> means;
  for (std::size_t i = 0; i < forecast.members.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    means.push_back(forecast.members[i].throughput * std::exp(covariance(at, at) / 2.0));
    first += means.back();
  }
  for (std::size_t i = 0; i < means.size(); ++i) {
    for (std::size_t j = 0; j < means.size(); ++j) {
      second += means[i] * means[j] *
                std::exp(covariance(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)));
    }
  }
  const double variance = std::log(second / (first * first));
  const double centre = std::log(first) - variance / 2.0;
  const double half = kNormal95 * std::sqrt(std::max(variance, 0.0));
  return {std::exp(centre - half), std::exp(centre + half)};
}

}  // namespace

double ShareForecaster::size_gap(std::size_t size) const {
  const auto partners = [](std::size_t members) {
    return std::max(static_cast<double>(members) - 1.0, 0.5);
  };
  double gap = std::numeric_limits<double>::infinity();
  for (const std::size_t trained : intervals_.sizes) {
    gap = std::min(gap, std::abs(std::log(partners(size) / partners(trained))));
  }
  return size == 1 || !std::isfinite(gap) ? 0.0 : gap;
}

double ShareForecaster::discrepancy(std::size_t size, const Crowd& crowd, bool all_trained) const {
  const double gap = size_gap(size);
  if (!crowd.in_turns || gap == 0.0) {
    return kSizeDiscrepancy * gap;
  }
  const double in_turns =
      turns_->noise() * std::hypot(kNewSizeDiscrepancy, kTurnSizeDiscrepancy * gap);
  // The noise of the fit tells nothing of workloads that it does not know.
  return all_trained ? in_turns : std::max(in_turns, kSizeDiscrepancy * gap);
}

Eigen::MatrixXd ShareForecaster::weighted_covariance(const Group& group, const Crowd& crowd) const {
  // Slopes of member i's log throughput on the parameters of member j.
  const auto slopes = [&](std::size_t i, std::size_t j) -> Eigen::RowVector3d {
    const Speed& own = speeds_[group[i].profile];
    const double pressure = own.resistance * (crowd.weight - own.weight);
    if (i == j) {
      const double pressed = pressure / (1.0 + pressure);
      return {1.0, pressed, pressed};
    }
    return {0.0, -own.resistance * speeds_[group[j].profile].weight / (1.0 + pressure), 0.0};
  };
  return propagate<3>(group.size(), slopes, [&](std::size_t a, std::size_t b) {
    return views_.covariance(group[a].profile, group[b].profile);
  });
}

Eigen::MatrixXd ShareForecaster::covariance_in_turns(const Group& group) const {
  std::vector<ProgressSlopes> slopes;
  slopes.reserve(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    std::vector<Turn> others;
    std::vector<double> anchors;
    for (std::size_t j = 0; j < group.size(); ++j) {
      if (j != i) {
        others.push_back(turns_->turn(group[j].profile));
        anchors.push_back(wait_for(group[i].profile, group[j].profile).anchor);
      }
    }
    slopes.push_back(progress_slopes(turns_->turn(group[i].profile), others, anchors));
  }
  const auto slopes_on = [&](std::size_t i, std::size_t j) -> Eigen::RowVector4d {
    if (i == j) {
      const TurnSlopes& own = slopes[i].own;
      return {1.0, own.length, own.open, own.slip};
    }
    const TurnSlopes& other = slopes[i].others[j < i ? j : j - 1];
    return {0.0, other.length, other.open, other.slip};
  };
  return propagate<4>(group.size(), slopes_on, [&](std::size_t a, std::size_t b) {
    return turns_->covariance(group[a].profile, group[b].profile);
  });
}

// Covariance of the members' log throughput: posterior of the parameters, noise of a measurement,
// widened to cover the training rows left out, and a discrepancy for sizes never trained on.
Eigen::MatrixXd ShareForecaster::log_covariance(const Group& group) const {
  const std::size_t size = group.size();
  const Crowd crowd = crowd_of(group);
  Eigen::MatrixXd out =
      crowd.in_turns ? covariance_in_turns(group) : weighted_covariance(group, crowd);
  const double group_noise = crowd.in_turns ? turns_->noise() : intervals_.noise;
  const double noise = kStudent95 / kNormal95 * (size == 1 ? intervals_.noise_solo : group_noise);
  out.diagonal().array() += noise * noise;
  const bool all_trained = std::all_of(group.begin(), group.end(), [&](const GroupMember& member) {
    return views_.views()[member.profile].trained;
  });
  const double learned = crowd.in_turns ? turns_->inflation() : intervals_.inflation;
  const double inflation = all_trained ? learned : std::max(1.0, learned);
  out *= inflation * inflation;
  const double gap = discrepancy(size, crowd, all_trained);
  out.array() += gap * gap / 2.0;  // half of it common to all members
  out.diagonal().array() += gap * gap / 2.0;
  return out;
}

void ShareForecaster::add_intervals(const Group& group, GroupForecast& forecast) const {
  const Eigen::MatrixXd covariance = log_covariance(group);
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const double factor = std::exp(kNormal95 * std::sqrt(covariance(at, at)));
    MemberForecast& member = forecast.members[i];
    member.interval90 = Interval{member.throughput / factor, member.throughput * factor};
  }
  forecast.sum_interval90 = interval_of_sum(forecast, covariance);
}

}  // namespace carpool::model
