#include "knowledge/activity_learning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "knowledge/group_forecast.hpp"
#include "knowledge/interference_law.hpp"

namespace carpool::knowledge {
namespace {

constexpr double kSettledSeconds = 1.5;  // of a group: the sample before covers the old one
constexpr double kSetUpSeconds = 2.0;    // of a job: warm-up, compilation
constexpr double kWarmSeconds = 6.0;     // until then a sample counts less
constexpr double kSampleSeconds = 3.0;   // samples closer than this repeat each other
constexpr double kSampleDeviation = 0.06;
constexpr double kRelativeDeviation = 0.08;
constexpr double kSumDeviation = 0.05;    // of the sum over members: 0.035 on data/h200
constexpr double kDriftPerSecond = 1e-6;  // variance: phases of a job differ
constexpr double kSmallestActivity = 0.005;
// A sum never tells a member's own activity better than this.
constexpr double kSumFloor = 0.07;
constexpr double kSaturated = 0.97;
// A program may set up for this long after it appears on the GPU; meanwhile a group does less than
// its members would.
constexpr double kLongestSetUp = 15.0;
// A job that runs alone and uses less than this has not begun to compute, or hardly uses the GPU:
// the latter is believed only after a while.
constexpr double kIdle = 0.05;
constexpr double kLongestIdle = 45.0;

// What a sample is worth.
struct SampleWorth {
  double weight = 0.0;    // 1: as much as the first one of a group that has settled; 0: none
  double passed_s = 0.0;  // since the sample before, or since the group came together
};

// Time for which the newest member has been on the GPU.
double youngest(const GroupSeen& seen) {
  double youngest_s = std::numeric_limits<double>::infinity();
  for (const GroupSeen::Member& member : seen.computing) {
    youngest_s = std::min(youngest_s, member.computed_s);
  }
  return youngest_s;
}

SampleWorth worth_of(const LiveGroup& group, const GroupSeen& seen) {
  const double youngest_s = std::min(youngest(seen), seen.unchanged_s);
  const double passed_s = std::min(seen.at_s - group.sampled_at_s, seen.unchanged_s);
  if (seen.unchanged_s < kSettledSeconds || youngest_s < kSetUpSeconds || !(passed_s > 0.0)) {
    return {};
  }
  const double early = youngest_s < kWarmSeconds ? 1.0 / 3.0 : 1.0;
  return {.weight = std::min(passed_s / kSampleSeconds, 1.0) * early, .passed_s = passed_s};
}

void learn_solo(BeliefStore& store, std::uint32_t slot, double sample, SampleWorth worth) {
  WorkloadState& workload = store.workloads()[slot];
  Believed& activity = workload.activity;
  activity.variance += kDriftPerSecond * std::min(worth.passed_s, kSampleSeconds);
  const double noise =
      (squared(kSampleDeviation) + squared(kRelativeDeviation * sample)) / worth.weight;
  correct(activity, 1.0, sample - activity.mean, activity.variance + noise);
  workload.alone = true;
}

// The members' shares of the counter, and the change of their sum by each activity.
struct CounterSum {
  double sum = 0.0;
  std::vector<double> slopes{};
  double variance = 0.0;  // because progress is not known, without activities
};

// The errors of the members' progress have common causes: their deviations add up.
double progress_variance(const BeliefStore& store, const LiveGroup& group, LawGroup law) {
  double deviation = 0.0;
  for (std::size_t i = 0; i < law.size(); ++i) {
    const MemberCosts costs = member_costs(store, law, i, group.prior);
    const double known = activity_cost_variance(store, law, i, costs);
    deviation += law[i]->activity * costs.total / squared(1.0 + costs.total) *
                 std::sqrt(cost_variance(store, law, i, costs) - known);
  }
  return squared(deviation);
}

CounterSum expected(const BeliefStore& store, const LiveGroup& group) {
  std::vector<LawMember> members;
  members.reserve(group.members.size());
  for (const LiveMember& member : group.members) {
    members.push_back(store.workloads()[member.slot].member);
  }
  std::vector<const LawMember*> view;
  view.reserve(members.size());
  for (const LawMember& member : members) {
    view.push_back(&member);
  }
  std::vector<double> progress(members.size());
  const auto sum = [&] {
    law_progress(store, view, group.prior, progress);
    double made = 0.0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      made += members[i].activity * progress[i];
    }
    return made;
  };
  constexpr double kStep = 1e-3;
  CounterSum made{.sum = sum(), .variance = progress_variance(store, group, view)};
  for (LawMember& member : members) {
    const LawMember before = member;
    member.activity += kStep;
    member.push *= squared(member.activity / before.activity);
    made.slopes.push_back((sum() - made.sum) / kStep);
    member = before;
  }
  return made;
}

// What is left of the members' variances once their sum is known: it does not tell one from
// another.
std::vector<double> sum_floors(const LiveGroup& group, const CounterSum& counter) {
  const std::vector<double>& slopes = counter.slopes;
  double total = counter.variance;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    total += squared(slopes[i]) * group.members[i].activity_variance;
  }
  std::vector<double> floors;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const double before = group.members[i].activity_variance;
    const double told = total > 0.0 ? squared(slopes[i]) * before / total : 0.0;
    floors.push_back(std::max(before * (1.0 - told), squared(kSumFloor)));
  }
  return floors;
}

void learn_sum(
    BeliefStore& store, const LiveGroup& group, double sample, double weight, bool sets_up) {
  const CounterSum counter = expected(store, group);
  const double difference = sample - counter.sum;
  if (sets_up && difference < 0.0) {
    return;
  }
  if (sample >= kSaturated && difference < 0.0) {
    return;  // the counter cannot read more
  }
  // Near its end the counter hides differences.
  const double near_end = 1.0 + 10.0 * std::max(sample - 0.9, 0.0) / 0.1;
  const double noise = (squared(kSampleDeviation) + squared(kSumDeviation)) * near_end / weight;
  std::vector<Believed> usable;  // the part of each variance that the sum can take away
  double spread = noise;
  const std::vector<double> floors = sum_floors(group, counter);
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    Believed part = store.workloads()[group.members[i].slot].activity;
    part.variance = std::max(part.variance - floors[i], 0.0);
    spread += squared(counter.slopes[i]) * part.variance;
    usable.push_back(part);
  }
  const double limited = std::clamp(difference, -3.0 * std::sqrt(spread), 3.0 * std::sqrt(spread));
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    Believed& activity = store.workloads()[group.members[i].slot].activity;
    const Believed before = usable[i];
    correct(usable[i], counter.slopes[i], limited, spread);
    activity.mean += usable[i].mean - before.mean;
    activity.variance -= before.variance - usable[i].variance;
  }
}

}  // namespace

void learn_activity(BeliefStore& store, LiveGroup& group, const GroupSeen& seen) {
  constexpr double kMostSample = 1.02;  // counters round
  if (!seen.sm_active || !(*seen.sm_active >= 0.0 && *seen.sm_active <= kMostSample)) {
    return;
  }
  const SampleWorth worth = worth_of(group, seen);
  const double sample = std::min(*seen.sm_active, 1.0);
  const double youngest_s = youngest(seen);
  const bool idle = group.members.size() == 1 && sample < kIdle && youngest_s < kLongestIdle;
  if (worth.weight <= 0.0 || idle) {
    return;
  }
  group.sampled_at_s = seen.at_s;
  for (const LiveMember& member : group.members) {
    make_current(store.workloads()[member.slot].activity, squared(kActivityDeviation), seen.at_s);
  }
  if (group.members.size() == 1) {
    learn_solo(store, group.members.front().slot, sample, worth);
  } else {
    learn_sum(store, group, sample, worth.weight, youngest_s < kLongestSetUp);
  }
  for (const LiveMember& member : group.members) {
    WorkloadState& workload = store.workloads()[member.slot];
    workload.activity.mean = std::clamp(workload.activity.mean, kSmallestActivity, 1.0);
    workload.measured_s += worth.passed_s;
    store.refresh(member.slot);
  }
}

}  // namespace carpool::knowledge
