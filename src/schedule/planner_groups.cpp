// The planner and the jobs that share GPUs: when the policy is asked about them, and what is done.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedule/planner.hpp"

namespace carpool::schedule {
namespace {

void take_earlier(std::optional<double>& first, const std::optional<double>& other) {
  if (other) {
    first = std::min(first.value_or(*other), *other);
  }
}

bool may_pause(const JobRecord& job) {
  const JobAttempt* attempt = job.running();
  return attempt != nullptr && job.state == JobState::Running && !attempt->pause &&
         job.spec.job_class != JobClass::Slo && attempt->start.gpus.size() == 1;
}

bool paused_by_policy(const Resident& resident) {
  return resident.phase == ResidentPhase::Paused && resident.paused_for != PauseCause::Memory;
}

}  // namespace

std::optional<double> Planner::next_wakeup_s(double now_s) const {
  std::optional<double> next = ask_again_s_;
  take_earlier(next, turns_.next_s());
  take_earlier(next, looks_.next_s());
  take_earlier(next, pause_ends_s_);
  take_earlier(next, backlog_.next_begin_s());
  if (some_may_start()) {
    take_earlier(next, backlog_.line().next_impatient_s(decided_s_));
    take_earlier(next, pauses_.next_s(decided_s_));
  }
  if (backlog_.look() != Look::Nothing && (some_may_start() || occupancy_.has_groups())) {
    take_earlier(next, now_s);
  }
  return next;
}

void Planner::note_groups(double at_s) {
  if (learns_ && group_changes_seen_ != occupancy_.group_changes()) {
    group_changes_seen_ = occupancy_.group_changes();
    looks_.group_changed(at_s);
  }
}

void Planner::look_if_due(double at_s) {
  const auto due = [&](const std::optional<double>& when) { return when && *when <= at_s; };
  bool look = due(ask_again_s_) || due(turns_.next_s()) || due(pause_ends_s_);
  if (looks_.take_due(at_s)) {
    occupancy_.update_speeds(at_s);
    look = true;
  }
  if (some_may_start()) {
    look = look || due(backlog_.line().next_impatient_s(decided_s_)) ||
           due(pauses_.next_s(decided_s_));
  }
  if (look) {
    backlog_.look_at(Look::Everything);
  }
}

// No job waits, or none may start: running jobs may still have to stand still or go on.
void Planner::ask_about_groups(double at_s) {
  ask_again_s_.reset();
  if (occupancy_.has_groups()) {
    (void)put_question({}, at_s);
  } else {
    turns_.forget_times();
  }
}

// First who stands still, then who goes on: never more compute than the policy wants.
void Planner::follow_pauses(const PlacementDecision& decision, double at_s) {
  for (const Pause& pause : decision.pause) {
    const LiveJob* job = jobs_.live(pause.job);
    if (job != nullptr && may_pause(*job->record)) {
      runs_.pause(*job, pause.cause, pause.reason, at_s);
    } else {
      refused(fmt::format("policy \"{}\" paused job {}, which may not be paused: refused",
                          policy_.name(),
                          pause.job));
    }
  }
  for (const Resume& resume : decision.resume) {
    const LiveJob* job = jobs_.live(resume.job);
    const JobAttempt* attempt = job == nullptr ? nullptr : job->record->running();
    // Who stands still for memory goes on when there is some.
    if (attempt != nullptr && attempt->pause && attempt->pause->cause != PauseCause::Memory) {
      runs_.resume(*job, resume.reason, at_s);
    }
  }
}

// Whatever the policy wants: a GPU does not stand idle while a job on it is paused, and no pause
// lasts for ever.
void Planner::end_pauses(double at_s) {
  pause_ends_s_.reset();
  std::vector<std::pair<JobId, const char*>> resumed;
  for (const GpuView& view : occupancy_.views()) {
    const Resident* oldest = nullptr;
    bool idle = true;
    for (const Resident& resident : view.residents) {
      idle = idle && resident.phase != ResidentPhase::Computing;
      if (!paused_by_policy(resident)) {
        continue;
      }
      const double ends_s = resident.phase_since_s + settings_.longest_pause_s;
      if (ends_s <= at_s) {
        resumed.emplace_back(resident.job, "it was paused for the longest time allowed");
        idle = false;
        continue;
      }
      take_earlier(pause_ends_s_, ends_s);
      if (oldest == nullptr || resident.phase_since_s < oldest->phase_since_s) {
        oldest = &resident;
      }
    }
    if (idle && oldest != nullptr) {
      resumed.emplace_back(oldest->job, "no other job computes on its GPU");
    }
  }
  for (const auto& [job, why] : resumed) {
    runs_.resume(*jobs_.live(job), why, at_s);
  }
}

}  // namespace carpool::schedule
