#include "schedule/scheduler_state.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace carpool::schedule {
namespace {

// A job that needs more of a GPU than this has it to itself: what the driver and other contexts
// take must stay free.
constexpr double kWholeGpu = 0.9;

}  // namespace

void SchedulerState::make(JobId job, decltype(JobEvent::what) what, double at_s) {
  now_s = std::max(now_s, at_s);
  pending.push_back({.job = job, .at_s = now_s, .what = std::move(what)});
  if (auto fits = absorb(pending.back()); !fits && !broken) {
    broken = fits.error();
  }
}

SchedulerState::Live* SchedulerState::live(JobId job) {
  const auto found = living.find(job);
  return found == living.end() ? nullptr : &found->second;
}

Result<SchedulerState::Live*> SchedulerState::live_or_error(JobId job) {
  if (Live* found = live(job)) {
    return found;
  }
  const auto record = records.find(job);
  if (record == records.end()) {
    return fail(ErrorCode::NotFound, fmt::format("there is no job {}", job));
  }
  return invalid_input(fmt::format("job {} has ended already ({})", job, record->second.code()));
}

void SchedulerState::look_at(Look what) {
  look = std::max(look, what);
}

Result<void> SchedulerState::absorb(const JobEvent& event) {
  const bool first = std::holds_alternative<JobSubmitted>(event.what);
  const auto record = first ? records.try_emplace(event.job).first : records.find(event.job);
  if (record == records.end()) {
    return fail(ErrorCode::Corrupt,
                fmt::format("journal of jobs: event {} is of job {}, which was never submitted",
                            event.sequence,
                            event.job));
  }
  if (auto applied = apply(record->second, event); !applied) {
    return applied;
  }
  if (first) {
    return absorb_submitted(record->second);
  }
  Live& job = living.at(event.job);
  if (std::holds_alternative<JobHeld>(event.what)) {
    leave_line(job);
  } else if (std::holds_alternative<JobReleased>(event.what)) {
    job.eligible_s = event.at_s;
    line_up(job);
  } else if (std::holds_alternative<JobStarted>(event.what)) {
    absorb_started(job, event.at_s);
  } else if (std::holds_alternative<JobStopAsked>(event.what)) {
    drop_timers(job);
    job.timer_s = event.at_s + settings.stop_grace_s;
    kills.emplace(*job.timer_s, event.job);
  } else if (std::holds_alternative<JobEnded>(event.what)) {
    absorb_ended(job, event.at_s);
  } else if (std::holds_alternative<JobRequeued>(event.what)) {
    // One that was unlucky keeps its place in the line.
    job.eligible_s = job.record->recovering() ? job.eligible_s : event.at_s;
    line_up(job);
  } else if (const auto* closed = std::get_if<JobClosed>(&event.what)) {
    absorb_closed(job, closed->end, event.at_s);
  }
  return {};
}

Result<void> SchedulerState::absorb_submitted(JobRecord& record) {
  last_job = std::max(last_job, record.id);
  // Member by member: g++ 12 takes a string that moves within an aggregate for uninitialized.
  Live& job = living[record.id];
  job.record = &record;
  job.key = workload_key(record.spec);
  job.eligible_s = record.submitted_s;
  job.view.job = record.id;
  job.view.uid = record.owner.uid;
  job.view.workload = job.key;
  job.view.job_class = record.spec.job_class;
  job.view.priority = record.spec.priority;
  job.view.gpus = record.spec.gpus;
  const std::set<JobId> after(record.spec.after.begin(), record.spec.after.end());
  for (const JobId other : after) {
    const auto end = outcome(other);
    if (!end) {
      return tl::unexpected(end.error());
    }
    if (!*end) {
      dependants[other].push_back(record.id);
      ++job.after;
    } else if (**end != RunEnd::Succeeded) {
      doomed.emplace_back(record.id, other);
      ++job.after;
    }
  }
  ++jobs_of_user[record.owner.uid];
  usage.came(record.owner.uid);
  line_up(job);
  return {};
}

void SchedulerState::line_up(Live& job) {
  const JobRecord& record = *job.record;
  if (record.state != JobState::Queued || job.after > 0) {
    return;
  }
  const bool alone =
      settings.recovery == RecoveryRule::Carma && record.exclusive && record.out_of_memory > 0;
  if (alone) {
    alone_first.insert(record.id);
  }
  update_view(job, now_s);
  line.enter({.job = record.id,
              .uid = record.owner.uid,
              .job_class = record.spec.job_class,
              .priority = record.spec.priority,
              .recovering = record.recovering(),
              .first = alone,
              .gpus = record.spec.gpus,
              .since_s = job.eligible_s,
              .runtime_s = job.view.runtime_s});
  newcomers.push_back(record.id);
  look_at(record.attempts.empty() ? Look::Newcomers : Look::Everything);
}

void SchedulerState::leave_line(Live& job) {
  line.leave(job.record->id);
  deferrals.erase(job.record->id);
  if (alone_first.erase(job.record->id) > 0 || job.record->id == kept_for) {
    look_at(Look::Everything);  // others may share again, or have its GPUs
  }
}

void SchedulerState::update_view(Live& job, double at_s) {
  const JobRecord& record = *job.record;
  if (job.history_seen != history_version || job.reserve_seen != record.reserve_bytes) {
    job.history_seen = history_version;
    job.reserve_seen = record.reserve_bytes;
    update_need(job);
  }
  job.view.waited_s = std::max(at_s - job.eligible_s, 0.0);
  job.view.failures = record.out_of_memory;
  job.view.exclusive = record.exclusive || job.needs_all || !alone_first.empty();
}

// Memory: what its owner said, else what earlier runs took; and what its own failures taught. Run
// time: what its owner said, else earlier runs, else the limit, which is better than nothing.
void SchedulerState::update_need(Live& job) {
  const JobRecord& record = *job.record;
  std::optional<std::uint64_t> need = record.spec.mem_bytes;
  std::optional<std::uint64_t> learned = record.reserve_bytes;
  std::optional<double> runtime = record.spec.runtime_s;
  if (settings.use_history) {
    const auto past = need ? std::nullopt : history.need_bytes(job.key);
    learned = past ? std::max(learned.value_or(0), *past) : learned;
    runtime = runtime ? runtime : history.runtime_s(job.key);
  }
  if (!need && !learned && settings.unknown_need_bytes > 0) {
    need = settings.unknown_need_bytes;
  }
  if (learned) {
    job.needs_all = *learned >= usable_bytes();
    need = std::max(need.value_or(0), std::min(*learned, usable_bytes()));
  }
  job.view.need_bytes = need;
  job.view.runtime_s = runtime ? runtime : record.spec.time_s;
}

std::uint64_t SchedulerState::usable_bytes() const {
  return static_cast<std::uint64_t>(static_cast<double>(occupancy.largest_memory()) * kWholeGpu);
}

void SchedulerState::absorb_started(Live& job, double at_s) {
  const JobRecord& record = *job.record;
  const JobStarted& start = record.attempts.back().start;
  leave_line(job);
  occupancy.add({.job = record.id,
                 .uid = record.owner.uid,
                 .workload = job.view.workload,
                 .job_class = record.spec.job_class,
                 .mechanism = start.mechanism,
                 .thread_limit = start.thread_limit,
                 .exclusive = record.exclusive || start.mechanism == ShareMechanism::None,
                 .several_gpus = start.gpus.size() > 1,
                 .reserved_bytes = start.reserved_bytes,
                 .started_s = at_s},
                start.gpus,
                job.view.runtime_s,
                at_s);
  usage.began(record.owner.uid, charged_speed(start), at_s);
  if (record.spec.time_s) {
    job.timer_s = at_s + *record.spec.time_s;
    limits.emplace(*job.timer_s, record.id);
  }
  look_at(Look::Everything);
}

// What came out of the GPUs for its owner, as far as it was predicted.
double SchedulerState::charged_speed(const JobStarted& start) {
  return static_cast<double>(start.gpus.size()) * start.predicted_progress.value_or(1.0);
}

void SchedulerState::drop_timers(Live& job) {
  if (job.timer_s) {
    limits.erase({*job.timer_s, job.record->id});
    kills.erase({*job.timer_s, job.record->id});
    job.timer_s.reset();
  }
}

void SchedulerState::absorb_ended(Live& job, double at_s) {
  const JobRecord& record = *job.record;
  const JobAttempt& attempt = record.attempts.back();
  drop_timers(job);
  occupancy.remove(record.id, at_s);
  usage.ended(record.owner.uid, charged_speed(attempt.start), attempt.started_s, at_s);
  if (learning && settings.use_history) {
    history.learn(job.key,
                  {.end = attempt.exit.end,
                   .run_s = *attempt.ended_s - attempt.started_s,
                   .progress = attempt.start.predicted_progress.value_or(1.0),
                   .peak_bytes = attempt.peak_bytes});
    ++history_version;
  }
  look_at(Look::Everything);
}

void SchedulerState::absorb_closed(Live& job, RunEnd end, double at_s) {
  const JobId id = job.record->id;
  leave_line(job);
  const auto owned = jobs_of_user.find(job.record->owner.uid);
  if (owned != jobs_of_user.end() && --owned->second == 0) {
    jobs_of_user.erase(owned);
  }
  living.erase(id);
  ended.push_back(id);
  while (ended.size() > settings.keep_ended) {
    records.erase(ended.front());
    ended.pop_front();
  }
  const auto waiting = dependants.find(id);
  if (waiting == dependants.end()) {
    return;
  }
  for (const JobId other : std::exchange(waiting->second, {})) {
    Live* dependant = live(other);
    if (dependant == nullptr) {
      continue;
    }
    if (end != RunEnd::Succeeded) {
      doomed.emplace_back(other, id);
    } else if (--dependant->after == 0) {
      dependant->eligible_s = at_s;
      line_up(*dependant);
    }
  }
  dependants.erase(id);
}

}  // namespace carpool::schedule
