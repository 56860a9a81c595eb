#include "knowledge/window_learning.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "knowledge/group_forecast.hpp"
#include "knowledge/interference_law.hpp"

namespace carpool::knowledge {
namespace {

// Of an activity that follows from kernels: caches, tails of kernels and phases of the job are not
// known. Wide, so that a few samples of the counter outweigh it.
constexpr double kWindowDeviation = 0.15;
constexpr double kRateRatioDeviation = 0.08;  // of a progress by measured launch rates
constexpr double kLeastProgress = 0.05;
constexpr double kLeastWindowActivity = 0.005;

bool usable_window(const KernelWindow& window) {
  const auto share = [](double value) { return value > 0.0 && value <= 1.0; };
  return share(window.busy) && share(window.active) && window.over_s > 0.0 &&
         std::isfinite(window.over_s);
}

// The member's share of its solo speed in this group.
Believed progress_of(const BeliefStore& store,
                     const LiveGroup& group,
                     std::size_t member,
                     const KernelWindow& window) {
  if (group.members.size() == 1) {
    return {.mean = 1.0};
  }
  const WorkloadState& workload = store.workloads()[group.members[member].slot];
  const auto& solo = workload.solo.at(static_cast<std::size_t>(ProgressSource::Launches));
  if (solo && solo->alone && window.launches_per_s > 0.0) {
    const double ratio = window.launches_per_s / std::exp(solo->log_rate.mean);
    return {.mean = std::clamp(ratio, kLeastProgress, 1.0),
            .variance = squared(kRateRatioDeviation)};
  }
  std::vector<const LawMember*> law;
  law.reserve(group.members.size());
  for (const LiveMember& other : group.members) {
    law.push_back(&store.workloads()[other.slot].member);
  }
  const ProgressForecast told = group_forecast(store, law, group.prior, true)[member];
  const double wide = told.interval90.high - told.interval90.low;
  return {.mean = std::clamp(told.progress, kLeastProgress, 1.0),
          .variance = squared(wide / 2.0 / kDeviations90)};
}

struct BusySolo {
  double low = 0.0;
  double high = 0.0;
  [[nodiscard]] double middle() const { return (low + high) / 2.0; }
};

// The share of the time in which kernels would run solo. Neighbours stretch the time of each launch
// by 1 / progress. If all of that is kernel time, the gaps between kernels are the same solo:
// 1 - (1 - busy) / progress. If the kernels only wait longer for their turn, their time is the same
// solo: busy / progress. The truth lies between.
BusySolo busy_solo(double busy, double progress) {
  return {.low = std::max(1.0 - (1.0 - busy) / progress, 0.0),
          .high = std::min(busy / progress, 1.0)};
}

Believed activity_by(const KernelWindow& window, const Believed& progress, double at_s) {
  const double fill = std::min(window.active / window.busy, 1.0);
  const BusySolo busy = busy_solo(window.busy, progress.mean);
  const double off = std::sqrt(progress.variance);
  const auto middle_at = [&](double at) {
    return busy_solo(window.busy, std::clamp(at, kLeastProgress, 1.0)).middle();
  };
  const double by_progress =
      (middle_at(progress.mean + off) - middle_at(progress.mean - off)) / 2.0;
  const double uniform = squared(busy.high - busy.low) / 12.0;
  const double variance =
      squared(kWindowDeviation) + squared(fill) * (uniform + squared(by_progress));
  return {.mean = std::clamp(fill * busy.middle(), kLeastWindowActivity, 1.0),
          .variance = std::min(variance, squared(kActivityDeviation)),
          .at_s = at_s};
}

// What was measured counts as before, beside another assumption. One that is surer, by the profile
// of a model, stays.
void assume(WorkloadState& workload, const LawMember& before, const Believed& window) {
  const double assumed_variance =
      squared(before.trust > 0.0 ? kProfiledActivityDeviation : kActivityDeviation);
  if (window.variance >= assumed_variance) {
    return;
  }
  Believed& activity = workload.activity;
  const double measured = 1.0 / activity.variance - 1.0 / assumed_variance;
  const double sum = measured > 0.0 ? activity.mean / activity.variance -
                                          workload.assumed_activity / assumed_variance
                                    : 0.0;
  const double precision = 1.0 / window.variance + std::max(measured, 0.0);
  activity.mean =
      std::clamp((window.mean / window.variance + sum) / precision, kLeastWindowActivity, 1.0);
  activity.variance = 1.0 / precision;
}

}  // namespace

void learn_windows(BeliefStore& store, LiveGroup& group, const GroupSeen& seen) {
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const GroupSeen::Member& member = seen.computing[i];
    WorkloadState& workload = store.workloads()[group.members[i].slot];
    if (!member.window || workload.window || member.several_gpus ||
        !usable_window(*member.window) || member.window->over_s > seen.unchanged_s) {
      continue;
    }
    const Believed progress = progress_of(store, group, i, *member.window);
    workload.window = {.activity = activity_by(*member.window, progress, seen.at_s),
                       .over_s = member.window->over_s,
                       .alone = group.members.size() == 1,
                       .long_kernel_ms = member.window->p90_us / 1000.0};
    make_current(workload.activity, squared(kActivityDeviation), seen.at_s);
    assume(workload, store.assumed(workload.name), workload.window->activity);
    group.members[i].activity_variance = workload.activity.variance;
    store.refresh(group.members[i].slot);
  }
}

}  // namespace carpool::knowledge
