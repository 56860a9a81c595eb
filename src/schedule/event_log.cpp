#include "schedule/event_log.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace carpool::schedule {
namespace {

// Work done for the owner, as far as it was predicted.
double charged_speed(const JobStarted& start) {
  return static_cast<double>(start.gpus.size()) * start.predicted_progress.value_or(1.0);
}

}  // namespace

void EventLog::advance(double now_s) {
  now_s_ = std::max(now_s_, now_s);
}

void EventLog::emit(JobId job, decltype(JobEvent::what) what, double at_s) {
  advance(at_s);
  pending_.push_back({.job = job, .at_s = now_s_, .what = std::move(what)});
  if (auto fits = apply(pending_.back()); !fits && !broken_) {
    broken_ = fits.error();
  }
}

std::vector<JobEvent> EventLog::take_pending() {
  return std::exchange(pending_, {});
}

Result<void> EventLog::apply(const JobEvent& event) {
  const auto changed = on_.jobs.apply(event);
  if (!changed) {
    return tl::unexpected(changed.error());
  }
  LiveJob& job = **changed;
  if (const auto* submitted = std::get_if<JobSubmitted>(&event.what)) {
    on_.usage.came(submitted->owner.uid);
    on_.backlog.enter(job, now_s_);
  } else if (std::holds_alternative<JobHeld>(event.what)) {
    on_.backlog.leave(job);
  } else if (std::holds_alternative<JobReleased>(event.what)) {
    job.eligible_s = event.at_s;
    on_.backlog.enter(job, now_s_);
  } else if (const auto* update = std::get_if<JobUpdated>(&event.what)) {
    updated(job, *update, event.at_s);
  } else if (std::holds_alternative<JobStarted>(event.what)) {
    started(job, event.at_s);
  } else if (const auto* pause = std::get_if<JobPaused>(&event.what)) {
    paused(job, *pause, event.at_s);
  } else if (std::holds_alternative<JobResumed>(event.what)) {
    resumed(job, event.at_s);
  } else if (std::holds_alternative<JobStopAsked>(event.what)) {
    on_.timers.set_kill(event.job, event.at_s + stop_grace_s_);
  } else if (std::holds_alternative<JobEnded>(event.what)) {
    ended(job, event.at_s);
  } else if (std::holds_alternative<JobRequeued>(event.what)) {
    // A job that failed without a fault of its own keeps its place in the line.
    job.eligible_s = job.record->recovering() ? job.eligible_s : event.at_s;
    on_.backlog.enter(job, now_s_);
  } else if (const auto* close = std::get_if<JobClosed>(&event.what)) {
    closed(event.job, close->end, event.at_s);
  }
  return {};
}

void EventLog::updated(LiveJob& job, const JobUpdated& update, double at_s) {
  const JobRecord& record = *job.record;
  job.view.job_class = record.spec.job_class;
  job.view.goal = latency_goal(record.spec);
  job.view.gating = gating_of(record.spec);
  job.view.priority = record.spec.priority;
  job.forget_needs();
  if (on_.backlog.contains(job)) {
    on_.backlog.leave(job);
    on_.backlog.enter(job, now_s_);
  }
  if (update.time_s && record.state == JobState::Running && !record.running()->pause) {
    on_.timers.drop(record.id);
    on_.timers.set_limit(record.id, at_s + *update.time_s - record.running()->ran_s(at_s));
  }
  on_.backlog.look_at(Look::Everything);
}

void EventLog::started(LiveJob& job, double at_s) {
  const JobRecord& record = *job.record;
  const JobStarted& start = record.attempts.back().start;
  on_.backlog.leave(job);
  on_.occupancy.add({.job = record.id,
                     .uid = record.owner.uid,
                     .workload = job.view.workload,
                     .job_class = record.spec.job_class,
                     .goal = latency_goal(record.spec),
                     .gating = gating_of(record.spec),
                     .mechanism = start.mechanism,
                     .thread_limit = start.thread_limit,
                     .exclusive = record.exclusive || start.mechanism == ShareMechanism::None,
                     .several_gpus = start.gpus.size() > 1,
                     .reserved_bytes = start.reserved_bytes,
                     .cap_bytes = start.cap_bytes.value_or(0),
                     .need_known = job.view.need_basis != NeedBasis::Unknown,
                     .started_s = at_s,
                     .phase = ResidentPhase::Starting,
                     .phase_since_s = at_s},
                    start.gpus,
                    job.view.runtime_s,
                    at_s,
                    record.cap_processes());
  charge(job, at_s);
  if (record.spec.time_s) {
    on_.timers.set_limit(record.id, at_s + *record.spec.time_s);
  }
  on_.backlog.look_at(Look::Everything);
}

void EventLog::charge(LiveJob& job, double at_s) {
  on_.usage.began(job.record->owner.uid, charged_speed(job.record->attempts.back().start), at_s);
  job.charged_since_s = at_s;
}

// A job that stands still costs its owner nothing.
void EventLog::stop_charging(LiveJob& job, double at_s) {
  if (const auto since_s = std::exchange(job.charged_since_s, std::nullopt)) {
    on_.usage.ended(
        job.record->owner.uid, charged_speed(job.record->attempts.back().start), *since_s, at_s);
  }
}

// The time limit of a job stands still with it.
void EventLog::paused(LiveJob& job, const JobPaused& pause, double at_s) {
  const JobRecord& record = *job.record;
  on_.occupancy.pause(record.id, pause.cause, at_s);
  stop_charging(job, at_s);
  if (record.spec.time_s && record.state == JobState::Running) {
    on_.timers.drop(record.id);
  }
  on_.backlog.look_at(Look::Everything);
}

void EventLog::resumed(LiveJob& job, double at_s) {
  const JobRecord& record = *job.record;
  on_.occupancy.resume(record.id, at_s);
  charge(job, at_s);
  if (record.spec.time_s && record.state == JobState::Running) {
    on_.timers.set_limit(record.id,
                         at_s + *record.spec.time_s - record.attempts.back().ran_s(at_s));
  }
  on_.backlog.look_at(Look::Everything);
}

void EventLog::ended(LiveJob& job, double at_s) {
  const JobRecord& record = *job.record;
  const JobAttempt& attempt = record.attempts.back();
  on_.timers.drop(record.id);
  on_.occupancy.remove(record.id, at_s);
  stop_charging(job, at_s);
  on_.needs.learn(
      job,
      {.end = attempt.exit.end,
       .run_s = attempt.ran_s(at_s),
       .progress = attempt.progress.value_or(attempt.start.predicted_progress.value_or(1.0)),
       .peak_bytes = attempt.peak_bytes});
  on_.backlog.learned(job);
  on_.backlog.look_at(Look::Everything);
}

void EventLog::closed(JobId job, RunEnd end, double at_s) {
  on_.backlog.leave(*on_.jobs.live(job));
  for (LiveJob* freed : on_.jobs.close(job, end, at_s)) {
    on_.backlog.enter(*freed, now_s_);
  }
}

void EventLog::close_doomed(double at_s) {
  while (const auto doomed = on_.jobs.take_doomed()) {
    if (on_.jobs.live(doomed->job) != nullptr) {
      emit(doomed->job, JobClosed{.end = RunEnd::Cancelled, .reason = doomed->reason()}, at_s);
    }
  }
}

}  // namespace carpool::schedule
