#include "policy/latency_admission.hpp"

#include <fmt/format.h>

#include "core/latency_words.hpp"

namespace carpool::policy {
namespace {

std::vector<ActiveMember> group_with(PlacementState& state,
                                     const PendingJob& job,
                                     const Slot& slot) {
  std::vector<ActiveMember> group = state.group(slot);
  group.push_back(state.member(job, slot));
  return group;
}

std::string job_words(JobId member, const PendingJob& job) {
  return member == job.job->job ? std::string("the job") : fmt::format("job {}", member);
}

std::string floor_words(const LatencyGoal& goal) {
  return goal.slo_ms > 0.0
             ? fmt::format(
                   "a job with an SLO keeps at least {:.0f} % while its latency there is not known",
                   100.0 * kSloFloor)
             : fmt::format("a job of class slo that states no latency keeps at least {:.0f} %",
                           100.0 * kSloFloor);
}

Refusal refuse_for_latency(const PromisedLatency& worst, const PendingJob& job, const Slot& slot) {
  return {.constraint = Constraint::Latency,
          .reason = fmt::format("on GPU {} {} would have a predicted {}, {}; its SLO is {}",
                                slot.view->index,
                                job_words(worst.job, job),
                                tail_words(worst.forecast, worst.goal.quantile),
                                basis_words(worst.forecast),
                                ms_words(worst.goal.slo_ms))};
}

}  // namespace

std::string latency_text(const GroupSpeeds& speeds,
                         PlacementState& state,
                         const PendingJob& job,
                         const Slot& slot) {
  std::string text;
  for (const PromisedLatency& one : speeds.latencies(group_with(state, job, slot))) {
    text += fmt::format("; predicted {}{}",
                        tail_words(one.forecast, one.goal.quantile),
                        one.job == job.job->job ? "" : fmt::format(" of job {}", one.job));
  }
  return text;
}

Refusal refuse_for_slo(GroupSpeeds& speeds,
                       PlacementState& state,
                       const PendingJob& job,
                       const Slot& slot) {
  const std::vector<ActiveMember> group = group_with(state, job, slot);
  const GroupProgress progress = speeds.of(group);
  if (progress.worst_slo >= kSloFloor) {
    return refuse_for_latency(speeds.latencies(group).front(), job, slot);
  }
  std::size_t slowest = 0;
  while (progress.promises[slowest] != Promise::Unknown ||
         progress.shares[slowest] > progress.worst_slo) {
    ++slowest;
  }
  return {
      .constraint = Constraint::Latency,
      .reason = fmt::format("on GPU {} {} would run at a predicted {:.0f} % of its solo speed; {}",
                            slot.view->index,
                            job_words(group[slowest].job, job),
                            100.0 * progress.shares[slowest],
                            floor_words(group[slowest].goal))};
}

}  // namespace carpool::policy
