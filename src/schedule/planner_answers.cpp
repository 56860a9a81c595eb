// What the planner answers about jobs that wait, or would; nothing here changes anything.
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

PlacementDecision Planner::what_if(ClusterSnapshot cluster) const {
  cluster.processors_idle = processors_idle_;
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
      "drained{}{}: no further job starts; an operator ends that with `carpool drain --undo`",
      drained_since_.empty() ? "" : " ",
      drained_since_);
}

WaitingLine::UserWeight Planner::user_weights(double at_s) const {
  const double mean = settings_.order == QueueOrder::Fair ? usage_.mean(at_s) : 0.0;
  return [this, at_s, mean](std::uint32_t uid) { return usage_.weight(uid, at_s, mean); };
}

std::optional<Deferral> Planner::why_not_asked(const LiveJob& job,
                                               std::optional<double> begin_s) const {
  const JobRecord& record = *job.record;
  Deferral deferral{.job = record.id, .constraint = Constraint::Order};
  if (record.state == JobState::Held) {
    deferral.reason = "held until it is released";
  } else if (job.after > 0) {
    deferral.reason = dependency_words(record.spec, jobs_);
  } else if (begin_s) {
    deferral.constraint = Constraint::Begin;
    deferral.reason = fmt::format(
        "it starts at {} at the earliest, as its owner asked",
        settings_.time_text ? settings_.time_text(*begin_s) : fmt::format("{:.0f} s", *begin_s));
  } else if (backlog_.array_is_full(job)) {
    deferral.constraint = Constraint::ArrayLimit;
    const unsigned limit = *record.spec.array_limit;
    deferral.reason = fmt::format("at most {} job{} of array {}[] run{} at once; others go first",
                                  limit,
                                  limit == 1 ? "" : "s",
                                  *record.array_job(),
                                  limit == 1 ? "s" : "");
  } else if (std::string why = why_no_starts(); !why.empty()) {
    deferral.constraint = draining_ ? Constraint::Order : Constraint::Machine;
    deferral.reason = std::move(why);
  } else if (paused(job)) {
    deferral.constraint = Constraint::Machine;
    deferral.reason = pauses_.why_closed(record.id, job.view.uid, decided_s_);
  } else {
    return std::nullopt;
  }
  return deferral;
}

Deferral Planner::too_far_back(JobId job, std::size_t waiting) const {
  return {
      .job = job,
      .constraint = Constraint::Order,
      .reason = fmt::format("not yet considered: {} jobs may start, the first {} are considered",
                            waiting,
                            settings_.depth)};
}

std::optional<Deferral> Planner::why_waiting(JobId job) const {
  const LiveJob* found = std::as_const(jobs_).live(job);
  if (found == nullptr || found->record->running() != nullptr) {
    return std::nullopt;
  }
  if (auto why = why_not_asked(*found, backlog_.begins_s(job))) {
    return why;
  }
  const Deferral* last = backlog_.deferral(job);
  if (last == nullptr) {
    return too_far_back(job, backlog_.line().size());
  }
  Deferral deferral = *last;
  deferral.reason += gpus_aside();
  return deferral;
}

// As decide_newcomers() asks: the jobs that wait already would be refused again, unless something
// changed since the last decision.
Arrival Planner::arrival(const LiveJob& job, double at_s) const {
  const JobId id = job.record->id;
  const WaitingLine::Ahead ahead =
      backlog_.line().ahead_of(backlog_.waiting_of(job), settings_.depth, at_s, user_weights(at_s));
  const std::optional<double> begin_s = job.record->spec.begin_s;
  Arrival out{.job = job.view,
              .waits = why_not_asked(job, begin_s && *begin_s > at_s ? begin_s : std::nullopt),
              .ahead = ahead.count};
  if (out.waits) {
    return out;
  }
  if (ahead.count >= settings_.depth) {
    out.waits = too_far_back(id, backlog_.line().size() + 1);
    return out;
  }
  if (!settings_.backfill && ahead.count > 0) {
    out.waits = {.job = id,
                 .constraint = Constraint::Order,
                 .reason = "jobs that wait go before it, and none overtakes them"};
    return out;
  }
  out.considered = true;
  std::vector<const QueuedJob*> queue;
  for (const JobId other : ahead.first) {
    if (const LiveJob* found = std::as_const(jobs_).live(other);
        backlog_.look() != Look::Nothing && !paused(*found)) {
      queue.push_back(&found->view);
    }
  }
  queue.push_back(&job.view);
  const FrontReservation& reserved = backlog_.reservation();
  std::vector<GpuView> gpus(occupancy_.views().begin(), occupancy_.views().end());
  for (GpuView& gpu : gpus) {
    if (gpu.unusable.empty() &&
        std::ranges::find(reserved.gpus, gpu.index) != reserved.gpus.end()) {
      gpu.unusable = reserved.words();
    }
  }
  answer(what_if({.now_s = at_s, .gpus = gpus, .queue = queue}), out, at_s);
  if (out.waits && reserved.job != 0 && at_s + job.longest_s <= reserved.until_s &&
      reserved.until_s < kNoTime) {
    answer(what_if({.now_s = at_s, .gpus = occupancy_.views(), .queue = queue}), out, at_s);
  }
  return out;
}

void Planner::answer(const PlacementDecision& decision, Arrival& out, double at_s) const {
  const JobId id = out.job.job;
  out.waits.reset();
  const auto placed = std::ranges::find(decision.place, id, &Placement::job);
  if (placed != decision.place.end()) {
    std::string why = why_closed(out.job, placed->gpus, at_s);
    if (why.empty()) {
      out.starts = *placed;
    } else {
      out.waits = {.job = id, .constraint = Constraint::Machine, .reason = std::move(why)};
    }
    return;
  }
  const auto deferred = std::ranges::find(decision.defer, id, &Deferral::job);
  out.waits = deferred != decision.defer.end() ? *deferred
                                               : Deferral{.job = id,
                                                          .constraint = Constraint::Order,
                                                          .reason = "jobs that wait go before it"};
  out.waits->reason += gpus_aside();
}

}  // namespace carpool::schedule
