#include "schedule/runs/run_control.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/log.hpp"
#include "schedule/gpus/process_cap.hpp"

namespace carpool::schedule {
namespace {

constexpr double kFirstLook = 1.0;  // after the executor had no answer
constexpr double kLongestLook = 30.0;

}  // namespace

RunControl::RunControl(const SchedulerSettings& settings,
                       const JobNeeds& needs,
                       JobTable& jobs,
                       Occupancy& occupancy,
                       Timers& timers,
                       TroublePauses& pauses,
                       EventLog& events,
                       Executor& executor,
                       Learner* learner)
    : outcome_rules_{.recovery = settings.recovery,
                     .max_out_of_memory = settings.max_out_of_memory,
                     .gpu_bytes = needs.usable_bytes()},
      guarded_(settings.guarded),
      stop_grace_s_(settings.stop_grace_s),
      jobs_(jobs),
      occupancy_(occupancy),
      timers_(timers),
      pauses_(pauses),
      events_(events),
      executor_(executor),
      learner_(learner) {}

void RunControl::start(const Placement& placement, double at_s) {
  const LiveJob& job = *jobs_.live(placement.job);
  const JobRecord& record = *job.record;
  const auto attempt = static_cast<unsigned>(record.attempts.size()) + 1;
  const bool guarded = is_guarded(record);
  // MPS limits each process; the library limits all of them together.
  const std::optional<std::uint64_t> cap =
      guarded || placement.mechanism == ShareMechanism::Mps ? placement.cap_bytes : std::nullopt;
  const unsigned processes =
      cap && !guarded
          ? std::max(record.processes(), occupancy_.expected_processes(job.view.workload))
          : 1;
  events_.emit(placement.job,
               JobStarted{.attempt = attempt,
                          .gpus = placement.gpus,
                          .mechanism = placement.mechanism,
                          .thread_limit = placement.thread_limit,
                          .reserved_bytes = placement.reserve_bytes,
                          .cap_bytes = cap,
                          .processes = processes,
                          .predicted_progress = placement.progress,
                          .reason = placement.reason},
               at_s);
  const RunId run{placement.job, attempt};
  pauses_.started({.run = run, .uid = record.owner.uid, .gpus = placement.gpus}, at_s);
  orders_.push_back({.kind = RunOrder::Kind::Launch, .run = run});
}

void RunControl::ask_to_stop(const LiveJob& job, const std::string& by, bool final, double at_s) {
  const RunId run{job.record->id, job.record->running()->start.attempt};
  // A process that stands still does not see the request.
  if (job.record->running()->pause) {
    resume(job, "it is asked to stop", at_s);
  }
  events_.emit(run.job, JobStopAsked{.by = by, .final = final}, at_s);
  orders_.push_back({.kind = RunOrder::Kind::Ask, .run = run});
}

void RunControl::pause(const LiveJob& job,
                       PauseCause cause,
                       const std::string& reason,
                       double at_s) {
  const RunId run{job.record->id, job.record->running()->start.attempt};
  events_.emit(run.job, JobPaused{.cause = cause, .reason = reason}, at_s);
  orders_.push_back({.kind = RunOrder::Kind::Pause, .run = run});
}

void RunControl::resume(const LiveJob& job, const std::string& reason, double at_s) {
  const RunId run{job.record->id, job.record->running()->start.attempt};
  events_.emit(run.job, JobResumed{.reason = reason}, at_s);
  orders_.push_back({.kind = RunOrder::Kind::Resume, .run = run});
}

void RunControl::send_back_for_memory(const LiveJob& job,
                                      std::uint64_t reserve_bytes,
                                      const std::string& reason,
                                      double at_s) {
  const RunId run{job.record->id, job.record->running()->start.attempt};
  events_.emit(run.job,
               JobStopAsked{.by = std::string(kByMemory),
                            .final = false,
                            .reserve_bytes = reserve_bytes,
                            .reason = reason},
               at_s);
  orders_.push_back({.kind = RunOrder::Kind::Kill, .run = run});
}

void RunControl::take_reports(double at_s) {
  for (RunReport& report : executor_.take_reports()) {
    take_report(std::move(report), at_s);
  }
}

void RunControl::take_report(RunReport report, double at_s) {
  const LiveJob* job = jobs_.live(report.run.job);
  const JobAttempt* attempt = job == nullptr ? nullptr : job->record->running();
  if (attempt == nullptr || attempt->start.attempt != report.run.attempt) {
    return;
  }
  if (report.kind == RunReport::Kind::Ended) {
    end_run(*job, std::move(report.exit), at_s);
  } else {
    pauses_.began(report.run, at_s);
  }
}

void RunControl::end_run(const LiveJob& job, RunExit exit, double at_s) {
  const JobRecord& record = *job.record;
  const WatchedRun watched = occupancy_.watched(record.id, at_s).value_or(WatchedRun());
  note_trouble(record, exit, at_s);
  unknown_.erase(record.id);
  // A request to stop takes precedence over what the job's exit says.
  if (record.stop_by == kByMemory) {
    exit.end = exit.end == RunEnd::Succeeded ? exit.end : RunEnd::OverCap;
    exit.scope.reset();
  } else if (!record.stop_by.empty()) {
    exit.end = record.stop_by == kByTimeLimit ? RunEnd::TimeLimit : RunEnd::Cancelled;
    exit.scope.reset();
  }
  judge_memory(record, exit, watched);
  judge_fault(record, exit, at_s);
  if (exit.at_s == 0.0) {
    exit.at_s = at_s;
  }
  teach(job, exit, watched);
  const double paused_s = record.running()->paused_until(exit.at_s);
  events_.emit(record.id,
               JobEnded{.attempt = record.running()->start.attempt,
                        .exit = std::move(exit),
                        .peak_bytes = watched.peak_bytes,
                        .progress = watched.progress,
                        .processes = watched.processes,
                        .paused_s = paused_s,
                        .energy_joules = watched.energy_joules},
               at_s);
  follow_up(job, at_s);
}

void RunControl::follow_up(const LiveJob& job, double at_s) {
  const JobId id = job.record->id;
  std::visit([&](auto&& next) { events_.emit(id, std::forward<decltype(next)>(next), at_s); },
             attempt_outcome(*job.record, outcome_rules_));
  events_.close_doomed(at_s);
}

void RunControl::enforce_time(double at_s) {
  while (const auto job = timers_.due_limit(at_s)) {
    ask_to_stop(*jobs_.live(*job), std::string(kByTimeLimit), /*final=*/true, at_s);
  }
  while (const auto job = timers_.due_kill(at_s)) {
    // Again after another grace period, if it does not help.
    timers_.set_kill(*job, at_s + std::max(stop_grace_s_, 1.0));
    orders_.push_back({.kind = RunOrder::Kind::Kill,
                       .run = {*job, jobs_.live(*job)->record->running()->start.attempt}});
  }
}

void RunControl::find_again(LiveJob& job, double at_s) {
  const JobRecord& record = *job.record;
  if (record.running() == nullptr) {
    follow_up(job, at_s);  // the journal has its end, and not yet what follows from it
    return;
  }
  const RunId run{record.id, record.running()->start.attempt};
  auto found = executor_.find(launch_spec(record));
  if (!found) {
    cannot_find(record.id, found.error(), at_s);
    return;
  }
  unknown_.erase(record.id);
  switch (found->state) {
    case FoundRun::State::Running:
      order_again(record, run);
      return;
    case FoundRun::State::Ended:
      end_run(job, std::move(found->exit), at_s);
      return;
    case FoundRun::State::NeverBegan:
      break;
  }
  if (!record.stop_by.empty()) {
    end_run(job, {.end = RunEnd::NeverStarted, .detail = "stopped before it started"}, at_s);
    return;
  }
  const std::string why = "it had not started when the server ended";
  events_.emit(run.job,
               JobEnded{.attempt = run.attempt,
                        .exit = {.end = RunEnd::NeverStarted, .detail = why, .at_s = at_s}},
               at_s);
  events_.emit(run.job, JobRequeued{.reason = why}, at_s);
}

// Whether the last orders were carried out before the server ended is not known.
void RunControl::order_again(const JobRecord& job, const RunId& run) {
  const JobAttempt& attempt = *job.running();
  if (attempt.pause) {
    orders_.push_back({.kind = RunOrder::Kind::Pause, .run = run});
  } else if (attempt.pauses > 0) {
    orders_.push_back({.kind = RunOrder::Kind::Resume, .run = run});
  }
  if (job.state == JobState::Stopping) {
    const bool kill = job.stop_by == kByMemory;
    orders_.push_back({.kind = kill ? RunOrder::Kind::Kill : RunOrder::Kind::Ask, .run = run});
  }
}

// It may be running: a second attempt beside it would be worse than none.
void RunControl::cannot_find(JobId job, const Error& error, double at_s) {
  LookAgain& look = unknown_[job];
  look.pause_s = look.pause_s == 0.0 ? kFirstLook : std::min(2.0 * look.pause_s, kLongestLook);
  look.at_s = at_s + look.pause_s;
  log_warning(
      fmt::format("job {}: whether it still runs is not known, and its GPUs stay occupied; "
                  "next look in {:g} s: {}",
                  job,
                  look.pause_s,
                  error.message));
}

void RunControl::find_unknown(double at_s) {
  std::vector<JobId> due;
  for (const auto& [job, look] : unknown_) {
    if (look.at_s <= at_s) {
      due.push_back(job);
    }
  }
  std::ranges::sort(due);
  for (const JobId job : due) {
    find_again(*jobs_.live(job), at_s);
  }
}

std::optional<double> RunControl::next_look_s() const {
  std::optional<double> next;
  for (const auto& [job, look] : unknown_) {
    next = std::min(next.value_or(look.at_s), look.at_s);
  }
  return next;
}

std::vector<RunOrder> RunControl::take_orders() {
  return std::exchange(orders_, {});
}

void RunControl::carry_out(const RunOrder& order) {
  const LiveJob* job = jobs_.live(order.run.job);
  const JobAttempt* attempt = job == nullptr ? nullptr : job->record->running();
  if (attempt == nullptr || attempt->start.attempt != order.run.attempt) {
    return;  // the attempt ended before
  }
  switch (order.kind) {
    case RunOrder::Kind::Launch:
      break;
    case RunOrder::Kind::Ask:
      executor_.stop(order.run, StopMode::Ask);
      return;
    case RunOrder::Kind::Kill:
      executor_.stop(order.run, StopMode::Kill);
      return;
    case RunOrder::Kind::Pause:
      executor_.pause(order.run);
      return;
    case RunOrder::Kind::Resume:
      executor_.resume(order.run);
      return;
  }
  if (const auto launched = executor_.launch(launch_spec(*job->record)); !launched) {
    end_run(*job, launched.error(), events_.now_s());
  }
}

LaunchSpec RunControl::launch_spec(const JobRecord& job) const {
  const JobStarted& start = job.attempts.back().start;
  const bool mps = start.mechanism == ShareMechanism::Mps;
  LaunchSpec spec{.run = {job.id, start.attempt},
                  .job = job.spec,
                  .owner = job.owner,
                  .gpu_indices = start.gpus,
                  .mechanism = start.mechanism,
                  .thread_limit = start.thread_limit,
                  .low_priority = mps && job.spec.job_class == JobClass::BestEffort,
                  .memory_limit_bytes = job.spec.mem_limit_bytes};
  if (start.cap_bytes) {
    const std::uint64_t cap = process_cap(*start.cap_bytes, job.cap_processes());
    spec.memory_limit_bytes = std::min(spec.memory_limit_bytes.value_or(cap), cap);
  }
  for (const unsigned gpu : start.gpus) {
    const GpuView* view = occupancy_.find(gpu);
    spec.gpu_uuids.push_back(view == nullptr ? std::string() : view->uuid);
  }
  return spec;
}

}  // namespace carpool::schedule
