// What users ask of a job after its submission.
#include <utility>

#include <fmt/format.h>

#include "schedule/scheduler.hpp"
#include "schedule/scheduler_parts.hpp"
#include "schedule/submission_check.hpp"

namespace carpool::schedule {

Result<void> Scheduler::cancel(JobId job, const std::string& by, double now_s) {
  auto found = parts_->jobs.live_or_error(job);
  if (!found) {
    return tl::unexpected(found.error());
  }
  const JobRecord& record = *(*found)->record;
  if (record.running() == nullptr) {
    parts_->events.emit(
        job,
        JobClosed{.end = RunEnd::Cancelled, .reason = fmt::format("cancelled by {}", by)},
        now_s);
    parts_->events.close_doomed(now_s);
  } else if (!record.stop_final) {
    parts_->runs.ask_to_stop(**found, by, /*final=*/true, now_s);
  }
  return {};
}

Result<void> Scheduler::hold(JobId job, double now_s) {
  auto found = parts_->jobs.live_or_error(job);
  if (!found) {
    return tl::unexpected(found.error());
  }
  const JobState state = (*found)->record->state;
  if (state != JobState::Queued && state != JobState::Held) {
    return conflict(fmt::format("job {} is running; only a waiting job can be held", job));
  }
  if (state == JobState::Queued) {
    parts_->events.emit(job, JobHeld{}, now_s);
  }
  return {};
}

Result<void> Scheduler::release(JobId job, double now_s) {
  auto found = parts_->jobs.live_or_error(job);
  if (!found) {
    return tl::unexpected(found.error());
  }
  if ((*found)->record->state == JobState::Held) {
    parts_->events.emit(job, JobReleased{}, now_s);
  }
  return {};
}

Result<void> Scheduler::update(JobId job, JobUpdated change, double now_s) {
  auto found = parts_->jobs.live_or_error(job);
  if (!found) {
    return tl::unexpected(found.error());
  }
  const JobRecord& record = *(*found)->record;
  const bool waits = record.state == JobState::Queued || record.state == JobState::Held;
  if (!waits && (change.mem_bytes || change.priority || change.job_class || change.begin_s)) {
    return conflict(fmt::format(
        "job {} is running: only its time limit can change; `carpool requeue {}` puts "
        "it back into the queue, where its memory, priority, class and begin can change too",
        job,
        job));
  }
  parts_->events.advance(now_s);
  const double ran_s = waits ? 0.0 : record.attempts.back().ran_s(parts_->events.now_s());
  if (!waits && change.time_s && *change.time_s <= ran_s) {
    return conflict(fmt::format(
        "job {} has run for {:.0f} s already; `carpool cancel {}` ends it", job, ran_s, job));
  }
  JobRecord changed = record;
  if (const auto fits = carpool::apply(changed, {.job = job, .at_s = now_s, .what = change});
      !fits) {
    return fits;
  }
  // A job that it came after may be forgotten by now.
  changed.spec.after.clear();
  changed.spec.after_any.clear();
  changed.spec.after_not_ok.clear();
  if (auto checked = check_submission(changed.spec, parts_->occupancy.views(), parts_->jobs);
      !checked) {
    return checked;
  }
  parts_->events.emit(job, std::move(change), now_s);
  return {};
}

Result<void> Scheduler::requeue(JobId job, double now_s) {
  auto found = parts_->jobs.live_or_error(job);
  if (!found) {
    return tl::unexpected(found.error());
  }
  const JobRecord& record = *(*found)->record;
  if (record.running() == nullptr) {
    return conflict(fmt::format("job {} is already waiting", job));
  }
  if (record.stop_final) {
    return conflict(fmt::format("job {} is already being stopped (by {})", job, record.stop_by));
  }
  if (record.stop_by.empty()) {
    parts_->runs.ask_to_stop(**found, "request", /*final=*/false, now_s);
  }
  return {};
}

}  // namespace carpool::schedule
