#include "knowledge/speed_learning.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "knowledge/group_forecast.hpp"
#include "knowledge/interference_law.hpp"

namespace carpool::knowledge {
namespace {

constexpr double kSetUpSpan = 1.0;       // seconds of each member that no speed may cover
constexpr double kShortestWindow = 0.2;  // seconds
constexpr double kSpeedDeviation = 0.03;
constexpr double kUsualWindow = 2.0;  // seconds; shorter ones are noisier
constexpr double kLeastSoloDeviation = 0.02;
constexpr double kSureSoloDeviation = 0.08;
constexpr double kLeastFactorDeviation = 0.03;
constexpr double kMostLogFactor = 2.5;
constexpr double kMostTilt = 6.0;

bool usable(const GroupSeen& seen, const GroupSeen::Member& member, const LiveMember& live) {
  // A program that serves requests is as fast as these come in: that says nothing of the GPU.
  if (!member.rate || member.latency) {
    return false;
  }
  // A neighbour that sets up does not slow others yet.
  const double youngest_s =
      std::ranges::min_element(seen.computing, {}, &GroupSeen::Member::computed_s)->computed_s;
  const MeasuredRate& rate = *member.rate;
  constexpr double kMostRate = 1e12;
  const auto source = static_cast<std::size_t>(rate.source);
  return rate.per_s > 0.0 && rate.per_s < kMostRate && source < kProgressSources &&
         rate.over_s >= kShortestWindow && rate.over_s <= seen.unchanged_s &&
         youngest_s - rate.over_s >= kSetUpSpan &&
         // Windows that overlap repeat each other.
         seen.at_s - live.rated_at_s >= 0.99 * rate.over_s;
}

double noise_of(const MeasuredRate& rate) {
  return squared(kSpeedDeviation) * std::max(kUsualWindow / rate.over_s, 1.0);
}

void learn_solo_speed(std::optional<SoloRate>& solo, double log_rate, double noise, double at_s) {
  if (!solo) {
    solo = {.log_rate = {.mean = log_rate, .variance = noise, .at_s = at_s}, .alone = true};
    return;
  }
  Believed& rate = solo->log_rate;
  make_current(rate, squared(kSoloRateDeviation), at_s);
  if (!solo->alone) {
    rate.variance += squared(kSureSoloDeviation);  // it was derived from groups
  }
  correct(rate, 1.0, log_rate - rate.mean, rate.variance + noise);
  rate.variance = std::max(rate.variance, squared(kLeastSoloDeviation));
  solo->alone = true;
}

Believed& number_of(BeliefStore& store,
                    std::uint32_t slot,
                    const Influence& influence,
                    double at_s) {
  using What = Influence::What;
  WorkloadState& workload = store.workloads()[slot];
  UserBelief& user = store.users()[workload.member.user];
  switch (influence.what) {
    case What::Contention:
      return user.log_contention;
    case What::Tilt:
      return user.tilt;
    case What::Sensitivity:
      return workload.log_sensitivity;
    case What::Pressure:
      return store.workloads()[influence.slot].log_pressure;
    case What::Pair:
      break;
  }
  return store.add_pair(slot, influence.slot, at_s);
}

void keep_sane(Believed& number, Influence::What what, double variance, double at_s) {
  const double most = what == Influence::What::Tilt ? kMostTilt : kMostLogFactor;
  number.mean = std::clamp(number.mean, -most, most);
  number.variance = std::max(number.variance, std::min(variance, squared(kLeastFactorDeviation)));
  number.at_s = std::max(number.at_s, at_s);
}

// One member of a group of two or more.
class GroupSpeed {
 public:
  GroupSpeed(BeliefStore& store, const LiveGroup& group, std::size_t position)
      : store_(store), slot_(group.members[position].slot) {
    for (const LiveMember& member : group.members) {
      law_.push_back(&store.workloads()[member.slot].member);
    }
    costs_ = member_costs(store, law_, position, group.prior);
    influences_ = influences(law_, position, costs_);
    steepness_ = costs_.total / (1.0 + costs_.total);  // of -ln(progress) by ln(cost)
    activity_variance_ = activity_cost_variance(store, law_, position, costs_);
    progress_variance_ = squared(steepness_) * cost_variance(store, law_, position, costs_);
  }

  void learn(
      std::optional<SoloRate>& solo, double log_rate, double noise, unsigned before, double at_s) {
    const double log_progress = -std::log1p(costs_.total);
    if (!solo) {
      solo = {.log_rate = {.mean = log_rate - log_progress,
                           .variance = noise + progress_variance_,
                           .at_s = at_s}};
      return;
    }
    // What the law does not say of this group is the same at each measurement: the n-th counts
    // 1/n^2.
    const double repeat = squared(1.0 + before);
    Believed& rate = solo->log_rate;
    make_current(rate, squared(kSoloRateDeviation), at_s);
    double spread =
        rate.variance + noise +
        squared(steepness_) * (group_variance(law_.size()) + activity_variance_) * repeat;
    std::vector<double> variances;
    for (const Influence& influence : influences_) {
      variances.push_back(variance_of(store_, store_.workloads()[slot_].member, influence));
      spread += squared(steepness_ * influence.slope) * variances.back();
    }
    const double difference = std::clamp(
        log_rate - rate.mean - log_progress, -3.0 * std::sqrt(spread), 3.0 * std::sqrt(spread));
    for (std::size_t n = 0; n < influences_.size(); ++n) {
      Believed& number = number_of(store_, slot_, influences_[n], at_s);
      number.variance = variances[n];
      correct(number, -steepness_ * influences_[n].slope, difference, spread);
      keep_sane(number, influences_[n].what, variances[n], at_s);
    }
    correct(rate, 1.0, difference, spread);
    rate.variance =
        std::max(rate.variance, solo->alone ? squared(kLeastSoloDeviation) : progress_variance_);
  }

 private:
  BeliefStore& store_;
  std::uint32_t slot_;
  std::vector<const LawMember*> law_;
  MemberCosts costs_{};
  std::vector<Influence> influences_;
  double steepness_ = 0.0;
  double activity_variance_ = 0.0;
  double progress_variance_ = 0.0;
};

void score(BeliefStore& store,
           LiveMember& live,
           const std::optional<SoloRate>& solo,
           double log_rate) {
  if (live.scored || !solo || !solo->alone ||
      solo->log_rate.variance > squared(kSureSoloDeviation)) {
    return;
  }
  live.scored = true;
  const double progress = std::min(std::exp(log_rate - solo->log_rate.mean), 1.0);
  const Interval& interval = live.predicted.interval90;
  const bool inside = progress >= interval.low && progress <= interval.high;
  UserBelief& user = store.users()[store.workloads()[live.slot].member.user];
  ++user.coverage.all;
  user.coverage.inside += inside ? 1 : 0;
  follow_outcome(live.predicted.basis == ProgressForecast::Basis::Measured ? user.measured_width
                                                                           : user.law_width,
                 inside);
}

}  // namespace

void learn_speeds(BeliefStore& store, LiveGroup& group, const GroupSeen& seen) {
  if (std::ranges::any_of(seen.computing, &GroupSeen::Member::several_gpus)) {
    return;  // its speed depends on its other GPUs too
  }
  GroupMemory::Key key;
  for (const LiveMember& member : group.members) {
    key.push_back(member.slot);
  }
  std::ranges::sort(key);
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    LiveMember& live = group.members[i];
    if (!usable(seen, seen.computing[i], live)) {
      continue;
    }
    const MeasuredRate& rate = *seen.computing[i].rate;
    const double log_rate = std::log(rate.per_s);
    auto& solo = store.workloads()[live.slot].solo.at(static_cast<std::size_t>(rate.source));
    if (group.members.size() == 1) {
      learn_solo_speed(solo, log_rate, noise_of(rate), seen.at_s);
    } else {
      score(store, live, solo, log_rate);
      GroupSpeed(store, group, i).learn(solo, log_rate, noise_of(rate), live.rates, seen.at_s);
      store.users()[store.workloads()[live.slot].member.user].groups.saw(
          key,
          {.workload = live.slot,
           .source = rate.source,
           .log_rate = {.mean = log_rate, .at_s = seen.at_s}});
      for (const LiveMember& member : group.members) {
        store.refresh(member.slot);
      }
    }
    live.rated_at_s = seen.at_s;
    ++live.rates;
  }
}

}  // namespace carpool::knowledge
