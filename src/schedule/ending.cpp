// What is done about attempts that end, or should.
#include <algorithm>

#include <fmt/format.h>

#include "schedule/scheduler_state.hpp"

namespace carpool::schedule {

void SchedulerState::take_reports(double at_s) {
  for (RunReport& report : executor.take_reports()) {
    Live* job = live(report.run.job);
    if (report.kind != RunReport::Kind::Ended || job == nullptr) {
      continue;
    }
    const JobAttempt* attempt = job->record->running();
    if (attempt != nullptr && attempt->start.attempt == report.run.attempt) {
      end_run(*job, std::move(report.exit), at_s);
    }
  }
}

void SchedulerState::end_run(Live& job, RunExit exit, double at_s) {
  const JobRecord& record = *job.record;
  // Whoever asked it to stop wins over what it says of its own end.
  if (!record.stop_by.empty()) {
    exit.end = record.stop_by == kByTimeLimit ? RunEnd::TimeLimit : RunEnd::Cancelled;
  }
  if (exit.at_s == 0.0) {
    exit.at_s = at_s;
  }
  make(record.id,
       JobEnded{.attempt = record.running()->start.attempt,
                .exit = std::move(exit),
                .peak_bytes = occupancy.peak_bytes(record.id)},
       at_s);
  follow_up(job, at_s);
}

OutcomeRules SchedulerState::outcome_rules() const {
  return {.recovery = settings.recovery,
          .max_out_of_memory = settings.max_out_of_memory,
          .gpu_bytes = usable_bytes()};
}

void SchedulerState::follow_up(Live& job, double at_s) {
  const JobId id = job.record->id;
  std::visit([&](auto&& next) { make(id, std::forward<decltype(next)>(next), at_s); },
             attempt_outcome(*job.record, outcome_rules()));
  close_doomed(at_s);
}

void SchedulerState::ask_to_stop(Live& job, const std::string& by, bool final, double at_s) {
  const RunId run{job.record->id, job.record->running()->start.attempt};
  make(run.job, JobStopAsked{.by = by, .final = final}, at_s);
  orders.push_back({.kind = Order::Kind::Ask, .run = run});
}

void SchedulerState::enforce_time(double at_s) {
  while (!limits.empty() && limits.begin()->first <= at_s) {
    ask_to_stop(living.at(limits.begin()->second), std::string(kByTimeLimit), /*final=*/true, at_s);
  }
  while (!kills.empty() && kills.begin()->first <= at_s) {
    const JobId id = kills.begin()->second;
    Live& job = living.at(id);
    drop_timers(job);
    job.timer_s = at_s + std::max(settings.stop_grace_s, 1.0);  // and again, if it does not help
    kills.emplace(*job.timer_s, id);
    orders.push_back(
        {.kind = Order::Kind::Kill, .run = {id, job.record->running()->start.attempt}});
  }
}

Result<void> SchedulerState::flush() {
  while (!broken && (!pending.empty() || !orders.empty())) {
    if (!pending.empty()) {
      if (auto durable = journal.append(pending); !durable) {
        return durable;
      }
      for (const JobEvent& event : std::exchange(pending, {})) {
        if (listener) {
          listener(event);
        }
      }
    }
    for (const Order& order : std::exchange(orders, {})) {
      carry_out(order);
    }
  }
  return broken ? Result<void>(tl::unexpected(*broken)) : Result<void>();
}

void SchedulerState::carry_out(const Order& order) {
  Live* job = live(order.run.job);
  const JobAttempt* attempt = job == nullptr ? nullptr : job->record->running();
  if (attempt == nullptr || attempt->start.attempt != order.run.attempt) {
    return;  // over before anything was done about it
  }
  if (order.kind != Order::Kind::Launch) {
    executor.stop(order.run, order.kind == Order::Kind::Ask ? StopMode::Ask : StopMode::Kill);
    return;
  }
  if (const auto launched = executor.launch(launch_spec(*job->record)); !launched) {
    end_run(*job, {.end = RunEnd::NeverStarted, .detail = launched.error().message}, now_s);
  }
}

}  // namespace carpool::schedule
