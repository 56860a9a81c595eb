#include "knowledge/live_groups.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "knowledge/group_forecast.hpp"
#include "knowledge/latency/latency_forecast.hpp"

namespace carpool::knowledge {
namespace {

// What the figures of its processes have in them of the group before.
LiveLatency carried_on(const LiveGroup& before, JobId job) {
  const auto found = std::ranges::find(before.members, job, &LiveMember::job);
  if (found == before.members.end() || !found->latency.seen) {
    return {};
  }
  return {.seen = true,
          .fewest_then = found->latency.fewest_last,
          .tail_then_ms = found->latency.tail_last_ms,
          .processes = found->latency.processes};
}

}  // namespace

std::vector<double> prior_progress(const BeliefStore& store,
                                   std::span<const InterferenceMember> group) {
  const InterferenceModel* prior = store.prior();
  if (prior == nullptr || group.size() < 2 ||
      !std::ranges::all_of(
          group, [&](const InterferenceMember& member) { return prior->knows(member.workload); })) {
    return {};
  }
  std::vector<double> told = prior->progress(group);
  const bool usable = told.size() == group.size() &&
                      std::ranges::all_of(told, [](double share) { return std::isfinite(share); });
  return usable ? told : std::vector<double>{};
}

LiveGroup& LiveGroups::follow(const BeliefStore& store,
                              const GroupSeen& seen,
                              std::span<const std::uint32_t> slots) {
  LiveGroup& group = groups_[seen.gpu];
  const bool same =
      group.epoch == store.epoch() &&
      std::ranges::equal(
          group.members, seen.computing, {}, &LiveMember::job, &GroupSeen::Member::job);
  if (same) {
    return group;
  }
  const LiveGroup before = std::exchange(group, {.epoch = store.epoch()});
  std::vector<const LawMember*> law;
  std::vector<InterferenceMember> named;
  for (const std::uint32_t slot : slots) {
    law.push_back(&store.workloads()[slot].member);
    named.push_back({.workload = store.workloads()[slot].name});
  }
  group.prior = prior_progress(store, named);
  const auto forecasts = group_forecast(store, law, group.prior, true);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    group.members.push_back(
        {.job = seen.computing[i].job,
         .slot = slots[i],
         .predicted = forecasts[i],
         .activity_variance = store.activity_variance(store.workloads()[slots[i]]),
         .latency = carried_on(before, seen.computing[i].job)});
    group.members.back().latency.predicted = latency_forecast(store, latency_question(seen, i));
  }
  return group;
}

const LiveGroup* LiveGroups::group_of(JobId job) const {
  const auto found = std::ranges::find_if(groups_, [&](const auto& item) {
    return std::ranges::find(item.second.members, job, &LiveMember::job) !=
           item.second.members.end();
  });
  return found == groups_.end() ? nullptr : &found->second;
}

}  // namespace carpool::knowledge
