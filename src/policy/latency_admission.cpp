#include "policy/latency_admission.hpp"

#include <fmt/format.h>

#include "core/latency_words.hpp"

namespace carpool::policy {
namespace {

std::vector<PromisedLatency> latencies_of(const GroupSpeeds& speeds,
                                          PlacementState& state,
                                          const PendingJob& job,
                                          const Slot& slot) {
  std::vector<ActiveMember> group = state.group(slot);
  group.push_back(state.member(job, slot));
  return speeds.latencies(group);
}

}  // namespace

std::string latency_text(const GroupSpeeds& speeds,
                         PlacementState& state,
                         const PendingJob& job,
                         const Slot& slot) {
  std::string text;
  for (const PromisedLatency& one : latencies_of(speeds, state, job, slot)) {
    text += fmt::format("; predicted {}{}",
                        tail_words(one.forecast, one.goal.quantile),
                        one.job == job.job->job ? "" : fmt::format(" of job {}", one.job));
  }
  return text;
}

Refusal refuse_for_latency(const GroupSpeeds& speeds,
                           PlacementState& state,
                           const PendingJob& job,
                           const Slot& slot) {
  const PromisedLatency worst = latencies_of(speeds, state, job, slot).front();
  return {.constraint = Constraint::Latency,
          .reason = fmt::format(
              "on GPU {} {} would have a predicted {}, {}; its SLO is {}",
              slot.view->index,
              worst.job == job.job->job ? std::string("the job") : fmt::format("job {}", worst.job),
              tail_words(worst.forecast, worst.goal.quantile),
              basis_words(worst.forecast),
              ms_words(worst.goal.slo_ms))};
}

}  // namespace carpool::policy
