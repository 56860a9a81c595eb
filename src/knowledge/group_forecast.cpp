#include "knowledge/group_forecast.hpp"

#include <algorithm>
#include <cmath>

namespace carpool::knowledge {
namespace {

constexpr double kRateDeviation = 0.03;        // of a measured speed, relative
constexpr double kPriorModelDeviation = 0.25;  // of ln(cost) by the prior model
constexpr double kMostLogActivityDeviation = 1.0;

bool one_user(LawGroup group) {
  return std::ranges::all_of(group, [&](const LawMember* member) {
    return member->slot != kNone && member->user == group.front()->user;
  });
}

const GroupMemory::Entry* remembered(const BeliefStore& store,
                                     LawGroup group,
                                     GroupMemory::Key& key) {
  if (group.size() < 2 || !one_user(group)) {
    return nullptr;
  }
  const GroupMemory& memory = store.user(group.front()->user).groups;
  if (memory.empty()) {
    return nullptr;
  }
  key.clear();
  for (const LawMember* member : group) {
    key.push_back(member->slot);
  }
  std::ranges::sort(key);
  return memory.find(key);
}

// ln(progress) of a member in a remembered group; empty: its solo speed is unknown.
std::optional<Believed> measured_progress(const BeliefStore& store,
                                          const GroupMemory::Entry& entry,
                                          std::uint32_t slot) {
  const GroupMemory::Speed* speed = GroupMemory::speed(entry, slot);
  if (speed == nullptr) {
    return std::nullopt;
  }
  const auto& solo = store.workloads()[slot].solo.at(static_cast<std::size_t>(speed->source));
  if (!solo || !solo->alone) {
    return std::nullopt;
  }
  const double now_s = store.now_s();
  return Believed{.mean = std::min(speed->log_rate.mean - solo->log_rate.mean, 0.0),
                  .variance = aged_variance(speed->log_rate, squared(kSoloRateDeviation), now_s) +
                              aged_variance(solo->log_rate, squared(kSoloRateDeviation), now_s)};
}

Interval around(double progress, double low, double high, double width, double floor) {
  // Measuring adds to the deviation of the true progress.
  const double noise = squared(width * kDeviations90 * kRateDeviation);
  const double down = std::sqrt(squared(std::log(progress / low)) + noise);
  const double up = std::sqrt(squared(std::log(high / progress)) + noise);
  return {.low = std::max(progress * std::exp(-down), 0.5 * floor),
          .high = std::min(progress * std::exp(up), 1.0)};
}

ProgressForecast by_law(const BeliefStore& store,
                        LawGroup group,
                        std::size_t member,
                        const MemberCosts& costs) {
  const double floor = store.settings().floor;
  const double width = store.user(group[member]->user).law_width;
  const double wide =
      std::exp(width * kDeviations90 * std::sqrt(cost_variance(store, group, member, costs)));
  const auto progress = [&](double cost) { return std::clamp(1.0 / (1.0 + cost), floor, 1.0); };
  ProgressForecast made{.progress = progress(costs.total)};
  made.interval90 = around(
      made.progress, progress(costs.total * wide), progress(costs.total / wide), width, floor);
  const bool seen = std::ranges::any_of(group, [&](const LawMember* one) {
    return one->profiled || (one->slot != kNone && store.workloads()[one->slot].measured_s > 0.0);
  });
  made.basis = seen ? ProgressForecast::Basis::Members : ProgressForecast::Basis::Assumed;
  return made;
}

}  // namespace

void remembered_progress(const BeliefStore& store,
                         LawGroup group,
                         GroupMemory::Key& key,
                         std::span<double> out) {
  const GroupMemory::Entry* entry = remembered(store, group, key);
  if (entry == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (const auto measured = measured_progress(store, *entry, group[i]->slot)) {
      out[i] = std::max(std::exp(measured->mean), store.settings().floor);
    }
  }
}

std::vector<Influence> influences(LawGroup group, std::size_t member, const MemberCosts& costs) {
  using What = Influence::What;
  const LawMember& slowed = *group[member];
  std::vector<Influence> made = {{.what = What::Sensitivity, .slope = 1.0}};
  double tilt = 0.0;
  for (std::size_t j = 0; j < group.size(); ++j) {
    if (j == member) {
      continue;
    }
    tilt += costs.shares[j] * tilt_slope(slowed, *group[j]);
    for (const What what : {What::Pressure, What::Pair}) {
      const auto same = std::ranges::find_if(made, [&](const Influence& known) {
        return known.what == what && known.slot == group[j]->slot;
      });
      if (same != made.end()) {
        same->slope += costs.shares[j];
      } else {
        made.push_back({.what = what, .slot = group[j]->slot, .slope = costs.shares[j]});
      }
    }
  }
  if (!costs.by_prior) {
    made.push_back({.what = What::Contention, .slope = 1.0});
    made.push_back({.what = What::Tilt, .slope = tilt});
  }
  return made;
}

double variance_of(const BeliefStore& store, const LawMember& member, const Influence& influence) {
  using What = Influence::What;
  const double now_s = store.now_s();
  const auto workload = [&](std::uint32_t slot, Believed WorkloadState::* number) {
    return slot == kNone
               ? squared(kWorkloadDeviation)
               : aged_variance(store.workloads()[slot].*number, squared(kWorkloadDeviation), now_s);
  };
  switch (influence.what) {
    case What::Contention:
      return store.user(member.user).log_contention.variance;
    case What::Tilt:
      return store.user(member.user).tilt.variance;
    case What::Sensitivity:
      return workload(member.slot, &WorkloadState::log_sensitivity);
    case What::Pressure:
      return workload(influence.slot, &WorkloadState::log_pressure);
    case What::Pair:
      break;
  }
  const Believed* factor = member.slot == kNone || influence.slot == kNone
                               ? nullptr
                               : store.pair(member.slot, influence.slot);
  return factor == nullptr ? squared(kPairDeviation)
                           : aged_variance(*factor, squared(kPairDeviation), now_s);
}

double activity_cost_variance(const BeliefStore& store,
                              LawGroup group,
                              std::size_t member,
                              const MemberCosts& costs) {
  if (costs.by_prior) {
    return 0.0;
  }
  const auto relative = [&](const LawMember& one) {
    const double deviation = one.slot != kNone
                                 ? std::sqrt(store.activity_variance(store.workloads()[one.slot]))
                             : one.trust > 0.0 ? kProfiledActivityDeviation
                                               : kActivityDeviation;
    return std::min(deviation / one.activity, kMostLogActivityDeviation);
  };
  const LawMember& slowed = *group[member];
  const double tilt = store.user(slowed.user).tilt.mean;
  double own = 0.0;
  double variance = 0.0;
  for (std::size_t j = 0; j < group.size(); ++j) {
    if (j == member) {
      continue;
    }
    const double trust = tilt * slowed.trust * group[j]->trust;
    own += costs.shares[j] * trust * slowed.activity;
    variance += squared(costs.shares[j] * (2.0 + trust * group[j]->activity) * relative(*group[j]));
  }
  return variance + squared(own * relative(slowed));
}

double cost_variance(const BeliefStore& store,
                     LawGroup group,
                     std::size_t member,
                     const MemberCosts& costs) {
  double variance = activity_cost_variance(store, group, member, costs) +
                    group_variance(group.size()) +
                    (costs.by_prior ? squared(kPriorModelDeviation) : 0.0);
  for (const Influence& influence : influences(group, member, costs)) {
    variance += squared(influence.slope) * variance_of(store, *group[member], influence);
  }
  return variance;
}

std::vector<ProgressForecast> group_forecast(const BeliefStore& store,
                                             LawGroup group,
                                             std::span<const double> prior,
                                             bool unlimited) {
  std::vector<ProgressForecast> made(group.size());
  if (group.size() < 2) {
    for (ProgressForecast& one : made) {
      one = {.progress = 1.0,
             .interval90 = {.low = 1.0, .high = 1.0},
             .basis = ProgressForecast::Basis::Members};
    }
    return made;
  }
  GroupMemory::Key key;
  const GroupMemory::Entry* entry = unlimited ? remembered(store, group, key) : nullptr;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto measured =
        entry == nullptr ? std::nullopt : measured_progress(store, *entry, group[i]->slot);
    if (!measured) {
      made[i] = by_law(store, group, i, member_costs(store, group, i, prior));
      continue;
    }
    const double floor = store.settings().floor;
    const double progress = std::max(std::exp(measured->mean), floor);
    const double width = store.user(group[i]->user).measured_width;
    const double wide = std::exp(width * kDeviations90 * std::sqrt(measured->variance));
    made[i] = {.progress = progress,
               .interval90 = around(progress, progress / wide, progress * wide, width, floor),
               .basis = ProgressForecast::Basis::Measured};
  }
  return made;
}

}  // namespace carpool::knowledge
