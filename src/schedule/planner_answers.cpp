// What the planner answers about jobs that wait; nothing here changes anything.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "schedule/placement_guard.hpp"
#include "schedule/planner.hpp"

namespace carpool::schedule {
namespace {

// "waiting for jobs to succeed: 3 4; to end: 5"
std::string dependency_words(const JobSpec& spec, const JobTable& jobs) {
  std::string words;
  for (const auto& [others, what] : {std::pair(&spec.after, "to succeed"),
                                     std::pair(&spec.after_any, "to end"),
                                     std::pair(&spec.after_not_ok, "to fail")}) {
    std::string ids;
    for (const JobId other : *others) {
      const JobRecord* before = jobs.find(other);
      ids += before != nullptr && !before->over() ? fmt::format(" {}", other) : "";
    }
    if (!ids.empty()) {
      words += fmt::format("{} {}:{}", words.empty() ? "waiting for jobs" : ";", what, ids);
    }
  }
  return words;
}

}  // namespace

bool Planner::paused(const LiveJob& job) const {
  return !pauses_.why_closed(job.view.job, job.view.uid, decided_s_).empty();
}

PlacementDecision Planner::what_if(const ClusterSnapshot& cluster) const {
  PlacementDecision decision = policy_.decide(cluster, interference_);
  std::erase_if(decision.place, [&](const Placement& placement) {
    const auto job = std::ranges::find(cluster.queue, placement.job, &QueuedJob::job);
    if (job == cluster.queue.end()) {
      return true;
    }
    const auto violation = find_violation(cluster.gpus, **job, placement);
    if (violation) {
      decision.defer.push_back(refusal(policy_.name(), placement.job, *violation));
    }
    return violation.has_value();
  });
  return decision;
}

// To be added to the reason of a job that waits.
std::string Planner::gpus_aside() const {
  std::string words;
  for (const GpuView& view : occupancy_.views()) {
    const std::string why = pauses_.why_closed({TroubleScope::Gpus, view.index}, decided_s_);
    if (!why.empty()) {
      words += fmt::format("; GPU {} is {}", view.index, why);
    }
  }
  return words;
}

std::string Planner::why_no_starts() const {
  if (!draining_) {
    return closed_;
  }
  return fmt::format(
      "the server starts no further job{}{}; an operator ends that with `carpool "
      "drain --undo`",
      drained_since_.empty() ? "" : " since ",
      drained_since_);
}

std::optional<Deferral> Planner::why_waiting(JobId job) const {
  const LiveJob* found = std::as_const(jobs_).live(job);
  if (found == nullptr || found->record->running() != nullptr) {
    return std::nullopt;
  }
  const JobRecord& record = *found->record;
  Deferral deferral{.job = job, .constraint = Constraint::Order};
  if (record.state == JobState::Held) {
    deferral.reason = "held until it is released";
  } else if (found->after > 0) {
    deferral.reason = dependency_words(record.spec, jobs_);
  } else if (const auto begin_s = backlog_.begins_s(job)) {
    deferral.constraint = Constraint::Begin;
    deferral.reason = fmt::format(
        "it starts at {} at the earliest, as its owner asked",
        settings_.time_text ? settings_.time_text(*begin_s) : fmt::format("{:.0f} s", *begin_s));
  } else if (backlog_.array_is_full(*found)) {
    deferral.constraint = Constraint::ArrayLimit;
    deferral.reason = fmt::format("at most {} jobs of array {}[] run at once; others go first",
                                  *record.spec.array_limit,
                                  *record.array_job());
  } else if (std::string why = why_no_starts(); !why.empty()) {
    deferral.constraint = draining_ ? Constraint::Order : Constraint::Machine;
    deferral.reason = std::move(why);
  } else if (paused(*found)) {
    deferral.constraint = Constraint::Machine;
    deferral.reason = pauses_.why_closed(job, found->view.uid, decided_s_);
  } else if (const Deferral* last = backlog_.deferral(job)) {
    deferral = *last;
    deferral.reason += gpus_aside();
  } else {
    deferral.reason =
        fmt::format("not yet considered: {} jobs may start, the first {} are considered",
                    backlog_.line().size(),
                    settings_.depth);
  }
  return deferral;
}

}  // namespace carpool::schedule
