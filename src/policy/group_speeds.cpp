#include "policy/group_speeds.hpp"

#include <algorithm>
#include <utility>

namespace carpool::policy {
namespace {

Promise promise_of(const LatencyForecast& forecast, const LatencyGoal& goal) {
  return forecast.tail_ms > goal.slo_ms       ? Promise::Broken
         : forecast.tail90.high > goal.slo_ms ? Promise::Doubtful
                                              : Promise::Kept;
}

// The law of progress does not know the gate: where requests go first, and where the group was
// measured, the latency tells how fast they are.
bool tells_speed(const LatencyForecast& forecast) {
  return forecast.solo_p50_ms > 0.0 && (forecast.basis == LatencyForecast::Basis::Gate ||
                                        forecast.basis == LatencyForecast::Basis::Measured);
}

}  // namespace

bool GroupProgress::keeps_slo() const {
  return std::ranges::none_of(promises, [](Promise promise) {
    return promise == Promise::Doubtful || promise == Promise::Broken;
  });
}

std::size_t GroupProgress::broken() const {
  return static_cast<std::size_t>(std::ranges::count(promises, Promise::Broken));
}

bool GroupProgress::below(std::size_t member, double floor) const {
  const Promise promise = promises.empty() ? Promise::None : promises[member];
  switch (promise) {
    case Promise::None:
      return shares[member] < floor;
    case Promise::Unknown:
      return shares[member] < kSloFloor;
    case Promise::Kept:
    case Promise::Doubtful:
      break;
    case Promise::Broken:
      return true;
  }
  return false;
}

GroupSpeeds::GroupSpeeds(PlacementState& state, const InterferenceModel& model)
    : state_(state),
      model_(model),
      bound_(model.bind(state.workloads())),
      bound_names_(state.workloads().size()) {}

GroupProgress GroupSpeeds::of(std::span<const ActiveMember> group) {
  for (; bound_names_ < state_.workloads().size(); ++bound_names_) {
    bound_->add(state_.workloads()[bound_names_]);
  }
  workloads_.clear();
  for (const ActiveMember& member : group) {
    workloads_.push_back(member.workload);
  }
  GroupProgress made;
  made.shares.assign(group.size(), 1.0);
  if (!group.empty()) {
    bound_->progress(workloads_, made.shares);
  }
  if (std::ranges::any_of(group, &ActiveMember::slo)) {
    add_promises(group, made);
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    made.sum += made.shares[i];
    made.worst = std::min(made.worst, made.shares[i]);
    if (!made.promises.empty() && made.promises[i] == Promise::Unknown) {
      made.worst_slo = std::min(made.worst_slo, made.shares[i]);
    }
  }
  return made;
}

void GroupSpeeds::add_promises(std::span<const ActiveMember> group, GroupProgress& made) const {
  made.promises.assign(group.size(), Promise::None);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!group[i].slo) {
      continue;
    }
    made.promises[i] = Promise::Unknown;
    if (const auto forecast = latency(group, i)) {
      made.promises[i] = promise_of(*forecast, group[i].goal);
      if (tells_speed(*forecast)) {
        made.shares[i] = std::clamp(forecast->solo_p50_ms / forecast->p50_ms, 0.01, 1.0);
      }
    }
  }
}

std::optional<LatencyForecast> GroupSpeeds::latency(std::span<const ActiveMember> group,
                                                    std::size_t member) const {
  LatencyQuestion question{.workload = state_.workloads()[group[member].workload],
                           .goal = group[member].goal,
                           .mps = group[member].mps};
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (i != member) {
      question.beside.push_back({.workload = state_.workloads()[group[i].workload],
                                 .gated = waits_for_requests(group[i].gating, group[member].mps)});
    }
  }
  return model_.latency(question);
}

std::vector<PromisedLatency> GroupSpeeds::latencies(std::span<const ActiveMember> group) const {
  std::vector<PromisedLatency> made;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!group[i].slo) {
      continue;
    }
    if (const auto forecast = latency(group, i)) {
      made.push_back({.job = group[i].job, .goal = group[i].goal, .forecast = *forecast});
    }
  }
  std::ranges::sort(made, {}, [](const PromisedLatency& one) {
    return std::pair(-one.forecast.tail90.high / one.goal.slo_ms, one.job);
  });
  return made;
}

}  // namespace carpool::policy
