#include "schedule/run_control.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace carpool::schedule {

RunControl::RunControl(const SchedulerSettings& settings,
                       const JobNeeds& needs,
                       JobTable& jobs,
                       const Occupancy& occupancy,
                       Timers& timers,
                       EventLog& events,
                       Executor& executor)
    : outcome_rules_{.recovery = settings.recovery,
                     .max_out_of_memory = settings.max_out_of_memory,
                     .gpu_bytes = needs.usable_bytes()},
      stop_grace_s_(settings.stop_grace_s),
      jobs_(jobs),
      occupancy_(occupancy),
      timers_(timers),
      events_(events),
      executor_(executor) {}

void RunControl::start(const Placement& placement, double at_s) {
  const JobRecord& record = *jobs_.live(placement.job)->record;
  const auto attempt = static_cast<unsigned>(record.attempts.size()) + 1;
  events_.emit(placement.job,
               JobStarted{.attempt = attempt,
                          .gpus = placement.gpus,
                          .mechanism = placement.mechanism,
                          .thread_limit = placement.thread_limit,
                          .reserved_bytes = placement.reserve_bytes,
                          .predicted_progress = placement.progress,
                          .reason = placement.reason},
               at_s);
  orders_.push_back({.kind = RunOrder::Kind::Launch, .run = {placement.job, attempt}});
}

void RunControl::ask_to_stop(const LiveJob& job, const std::string& by, bool final, double at_s) {
  const RunId run{job.record->id, job.record->running()->start.attempt};
  events_.emit(run.job, JobStopAsked{.by = by, .final = final}, at_s);
  orders_.push_back({.kind = RunOrder::Kind::Ask, .run = run});
}

void RunControl::take_reports(double at_s) {
  for (RunReport& report : executor_.take_reports()) {
    LiveJob* job = jobs_.live(report.run.job);
    if (report.kind != RunReport::Kind::Ended || job == nullptr) {
      continue;
    }
    const JobAttempt* attempt = job->record->running();
    if (attempt != nullptr && attempt->start.attempt == report.run.attempt) {
      end_run(*job, std::move(report.exit), at_s);
    }
  }
}

void RunControl::end_run(const LiveJob& job, RunExit exit, double at_s) {
  const JobRecord& record = *job.record;
  // A request to stop takes precedence over what the job's exit says.
  if (!record.stop_by.empty()) {
    exit.end = record.stop_by == kByTimeLimit ? RunEnd::TimeLimit : RunEnd::Cancelled;
  }
  if (exit.at_s == 0.0) {
    exit.at_s = at_s;
  }
  events_.emit(record.id,
               JobEnded{.attempt = record.running()->start.attempt,
                        .exit = std::move(exit),
                        .peak_bytes = occupancy_.peak_bytes(record.id)},
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
    // It may be running: a second attempt beside it would be worse than none.
    events_.emit(
        run.job,
        JobEnded{.attempt = run.attempt,
                 .exit = {.end = RunEnd::Lost, .detail = found.error().message, .at_s = at_s}},
        at_s);
    events_.emit(run.job, JobClosed{.end = RunEnd::Lost, .reason = found.error().message}, at_s);
    return;
  }
  switch (found->state) {
    case FoundRun::State::Running:
      if (record.state == JobState::Stopping) {
        orders_.push_back({.kind = RunOrder::Kind::Ask, .run = run});
      }
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

std::vector<RunOrder> RunControl::take_orders() {
  return std::exchange(orders_, {});
}

void RunControl::carry_out(const RunOrder& order) {
  const LiveJob* job = jobs_.live(order.run.job);
  const JobAttempt* attempt = job == nullptr ? nullptr : job->record->running();
  if (attempt == nullptr || attempt->start.attempt != order.run.attempt) {
    return;  // the attempt ended before
  }
  if (order.kind != RunOrder::Kind::Launch) {
    executor_.stop(order.run, order.kind == RunOrder::Kind::Ask ? StopMode::Ask : StopMode::Kill);
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
  for (const unsigned gpu : start.gpus) {
    const GpuView* view = occupancy_.find(gpu);
    spec.gpu_uuids.push_back(view == nullptr ? std::string() : view->uuid);
  }
  return spec;
}

}  // namespace carpool::schedule
