#include "model/share/share_forecaster.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "model/share/leave_one_out.hpp"

namespace carpool::model {
namespace {

// Log discrepancy of a group that is e times larger than any trained on (equal to the given noise).
constexpr double kSizeDiscrepancy = 0.2;

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

ShareForecaster::ShareForecaster(ProfileViews views,
                                 std::span<const LimitParameters> limits,
                                 IntervalSettings intervals)
    : views_(std::move(views)), intervals_(std::move(intervals)) {
  for (std::size_t i = 0; i < views_.views().size(); ++i) {
    const ShareParameters& share = views_.views()[i].share;
    speeds_.push_back({.capacity = std::exp(share.log_capacity),
                       .weight = std::exp(share.log_weight),
                       .resistance = std::exp(-share.log_weight - share.headroom),
                       .solo = std::exp(log_solo(share, limits[i]))});
    traits_.push_back(limit_traits(share, limits[i]));
  }
  pair_factors_ = views_.pair_interaction().array().exp();
}

std::vector<GroupForecast> ShareForecaster::forecast(std::span<const Group> candidates,
                                                     ForecastDetail detail) const {
  std::vector<GroupForecast> forecasts;
  forecasts.reserve(candidates.size());
  for (const Group& group : candidates) {
    forecasts.push_back(point(group));
    if (detail == ForecastDetail::WithIntervals) {
      add_intervals(group, forecasts.back());
    }
  }
  return forecasts;
}

std::vector<double> ShareForecaster::preferences(std::span<const Group> candidates) const {
  std::vector<double> out;
  out.reserve(candidates.size());
  for (const Group& group : candidates) {
    if (!unlimited(group)) {
      out.push_back(point(group).preference);
      continue;
    }
    const double weight = weight_of(group);
    double sum = 0.0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      sum += unlimited_speed(group, i, weight);
    }
    out.push_back(sum);
  }
  return out;
}

double ShareForecaster::weight_of(const Group& group) const {
  double weight = 0.0;
  for (const GroupMember& member : group) {
    weight += speeds_[member.profile].weight;
  }
  return weight;
}

double ShareForecaster::unlimited_speed(const Group& group,
                                        std::size_t member,
                                        double group_weight) const {
  const Speed& own = speeds_[group[member].profile];
  if (group.size() == 1) {
    return own.solo;
  }
  return own.capacity / (1.0 + own.resistance * (group_weight - own.weight)) *
         interaction_factor(group, member, group_weight);
}

double ShareForecaster::interaction_factor(const Group& group,
                                           std::size_t member,
                                           double group_weight) const {
  if (!unlimited(group)) {
    return 1.0;  // the factors of thread limits were fitted without pair interactions
  }
  const auto own = static_cast<Eigen::Index>(group[member].profile);
  if (group.size() == 2) {
    return pair_factors_(own, static_cast<Eigen::Index>(group[1 - member].profile));
  }
  double log_factor = 0.0;
  for (std::size_t j = 0; j < group.size(); ++j) {
    if (j != member) {
      log_factor += speeds_[group[j].profile].weight *
                    views_.pair_interaction()(own, static_cast<Eigen::Index>(group[j].profile));
    }
  }
  return std::exp(log_factor / (group_weight - speeds_[group[member].profile].weight) /
                  std::sqrt(static_cast<double>(group.size() - 1)));
}

GroupForecast ShareForecaster::point(const Group& group) const {
  GroupForecast out;
  out.members.resize(group.size());
  const double weight = weight_of(group);
  double sum = 0.0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    MemberForecast& member = out.members[i];
    member.throughput = unlimited_speed(group, i, weight);
    member.extrapolated = views_.views()[group[i].profile].outside;
    sum += member.throughput;
  }
  if (!unlimited(group)) {
    std::vector<double> factors(group.size());
    log_limit_factors(traits_, group, factors);
    sum = 0.0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      out.members[i].throughput *= std::exp(factors[i]);
      sum += out.members[i].throughput;
    }
  }
  out.sum = sum;
  out.preference = sum;
  return out;
}

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

// Covariance of the members' log throughput: posterior of the parameters, noise of a measurement,
// widened to cover the training rows left out, and a discrepancy for sizes never trained on.
Eigen::MatrixXd ShareForecaster::log_covariance(const Group& group) const {
  const std::size_t size = group.size();
  const double weight = weight_of(group);
  // Slopes of member i's log throughput on the parameters of member j.
  const auto slopes = [&](std::size_t i, std::size_t j) -> Eigen::RowVector3d {
    const Speed& own = speeds_[group[i].profile];
    const double crowd = own.resistance * (weight - own.weight);
    if (i == j) {
      const double pressed = crowd / (1.0 + crowd);
      return {1.0, pressed, pressed};
    }
    return {0.0, -own.resistance * speeds_[group[j].profile].weight / (1.0 + crowd), 0.0};
  };
  Eigen::MatrixXd out =
      Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(size), static_cast<Eigen::Index>(size));
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b < size; ++b) {
      const Eigen::Matrix3d between = views_.covariance(group[a].profile, group[b].profile);
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) {
          out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) +=
              slopes(i, a).dot(between * slopes(j, b).transpose());
        }
      }
    }
  }
  const double noise =
      kStudent95 / kNormal95 * (size == 1 ? intervals_.noise_solo : intervals_.noise);
  out.diagonal().array() += noise * noise;
  const bool all_trained = std::all_of(group.begin(), group.end(), [&](const GroupMember& member) {
    return views_.views()[member.profile].trained;
  });
  const double inflation = all_trained ? intervals_.inflation : std::max(1.0, intervals_.inflation);
  out *= inflation * inflation;
  const double gap = kSizeDiscrepancy * size_gap(size);
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
