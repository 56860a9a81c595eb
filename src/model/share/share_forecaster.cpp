#include "model/share/share_forecaster.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace carpool::model {
namespace {

// The most by which the forecast of a pair moves the wait of its members.
constexpr double kMostAnchored = 2.0;

}  // namespace

ShareForecaster::ShareForecaster(ProfileViews views,
                                 std::optional<TurnViews> turns,
                                 std::span<const LimitParameters> limits,
                                 IntervalSettings intervals)
    : views_(std::move(views)), turns_(std::move(turns)), intervals_(std::move(intervals)) {
  for (std::size_t i = 0; i < views_.views().size(); ++i) {
    const ShareParameters& share = views_.views()[i].share;
    speeds_.push_back({.capacity = std::exp(share.log_capacity),
                       .weight = std::exp(share.log_weight),
                       .resistance = std::exp(-share.log_weight - share.headroom),
                       .solo = std::exp(log_solo(share, limits[i]))});
    traits_.push_back(limit_traits(share, limits[i]));
  }
  pair_speeds_ = views_.pair_interaction().array().exp();
  for (std::size_t i = 0; i < speeds_.size(); ++i) {
    for (std::size_t j = 0; j < speeds_.size(); ++j) {
      const double factor =
          pair_speeds_(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
      pair_speeds_(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          weighted_speed(i, speeds_[i].weight + speeds_[j].weight) * factor;
    }
  }
  if (turns_) {
    anchor_turns();
  }
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
    const Crowd crowd = crowd_of(group);
    if (crowd.limited) {
      out.push_back(point(group).preference);
      continue;
    }
    double sum = 0.0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      sum += speed_of(group, i, crowd);
    }
    out.push_back(sum);
  }
  return out;
}

ShareForecaster::Crowd ShareForecaster::crowd_of(const Group& group) const {
  Crowd crowd{.limited = !unlimited(group)};
  crowd.in_turns = turns_ && group.size() > 2 && !crowd.limited;
  for (const GroupMember& member : group) {
    crowd.weight += speeds_[member.profile].weight;
  }
  return crowd;
}

double ShareForecaster::weighted_speed(std::size_t profile, double group_weight) const {
  const Speed& own = speeds_[profile];
  return own.capacity / (1.0 + own.resistance * (group_weight - own.weight));
}

double ShareForecaster::speed_of(const Group& group, std::size_t member, const Crowd& crowd) const {
  const std::size_t profile = group[member].profile;
  if (group.size() == 1) {
    return speeds_[profile].solo;
  }
  if (crowd.limited) {  // the factors of thread limits were fitted to plain shares
    return weighted_speed(profile, crowd.weight);
  }
  if (group.size() == 2) {
    return pair_speeds_(static_cast<Eigen::Index>(profile),
                        static_cast<Eigen::Index>(group[1 - member].profile));
  }
  return crowd.in_turns ? speed_in_turns(group, member)
                        : weighted_speed(profile, crowd.weight) *
                              interaction_factor(group, member, crowd.weight);
}

// The wait of every pair, moved towards the forecast of the pair, which knows their interaction.
// Where larger groups were trained on, that of trained workloads is not moved: weights cannot fit
// both sizes, so that the forecast of a pair is a compromise, and the turns were fitted to what is
// predicted.
void ShareForecaster::anchor_turns() {
  const bool only_pairs = intervals_.sizes == std::vector<std::size_t>{2};
  waits_.reserve(speeds_.size() * speeds_.size());
  for (std::size_t i = 0; i < speeds_.size(); ++i) {
    for (std::size_t j = 0; j < speeds_.size(); ++j) {
      const PairWait wait = pair_wait(turns_->turn(i), turns_->turn(j));
      const double in_turns =
          turns_->speed(i) / (1.0 + relative_wait(wait, turns_->turn(i).length, 1.0));
      const double in_pair =
          pair_speeds_(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
      const double moved = std::clamp(in_turns / in_pair, 1.0 / kMostAnchored, kMostAnchored);
      const bool both_trained = views_.views()[i].trained && views_.views()[j].trained;
      waits_.push_back({.wait = wait, .anchor = only_pairs || !both_trained ? moved : 1.0});
    }
  }
}

// No faster than beside any one of the others, where the two laws differ.
double ShareForecaster::speed_in_turns(const Group& group, std::size_t member) const {
  const std::size_t profile = group[member].profile;
  double room = 1.0;
  for (std::size_t j = 0; j < group.size(); ++j) {
    room *= j != member ? turns_->turn(group[j].profile).fade : 1.0;
  }
  const double length = turns_->turn(profile).length;
  double waits = 0.0;
  double slowest_pair = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < group.size(); ++j) {
    if (j != member) {
      const std::size_t other = group[j].profile;
      const AnchoredWait& on = wait_for(profile, other);
      waits += on.anchor * relative_wait(on.wait, length, room / turns_->turn(other).fade);
      slowest_pair = std::min(
          slowest_pair,
          pair_speeds_(static_cast<Eigen::Index>(profile), static_cast<Eigen::Index>(other)));
    }
  }
  return std::min(turns_->speed(profile) / (1.0 + waits), slowest_pair);
}

double ShareForecaster::interaction_factor(const Group& group,
                                           std::size_t member,
                                           double group_weight) const {
  const auto own = static_cast<Eigen::Index>(group[member].profile);
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
  const Crowd crowd = crowd_of(group);
  double sum = 0.0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    MemberForecast& member = out.members[i];
    member.throughput = speed_of(group, i, crowd);
    member.extrapolated = views_.views()[group[i].profile].outside;
    sum += member.throughput;
  }
  if (crowd.limited) {
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

}  // namespace carpool::model
