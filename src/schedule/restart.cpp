// Going on after a restart.
#include <algorithm>

#include <fmt/format.h>

#include "schedule/scheduler_state.hpp"

namespace carpool::schedule {

Result<void> SchedulerState::recover(double at_s) {
  auto past = journal.history();
  if (!past) {
    return tl::unexpected(past.error());
  }
  learning = !past->has_value();
  if (*past) {
    history = std::move(**past);
  }
  Result<void> fits;
  const auto replayed = journal.replay([&](const JobEvent& event) {
    now_s = std::max(now_s, event.at_s);
    if (fits) {
      fits = absorb(event);
    }
  });
  learning = true;
  if (!replayed || !fits) {
    return replayed ? fits : replayed;
  }
  const auto highest = journal.last_job();
  if (!highest) {
    return tl::unexpected(highest.error());
  }
  last_job = std::max(last_job, *highest);
  now_s = std::max(now_s, at_s);
  std::vector<JobId> begun;
  for (const auto& [id, job] : living) {
    if (job.record->state == JobState::Running || job.record->state == JobState::Stopping) {
      begun.push_back(id);
    }
  }
  std::ranges::sort(begun);
  for (const JobId id : begun) {
    find_again(living.at(id), now_s);
  }
  close_doomed(now_s);
  look_at(Look::Everything);
  return {};
}

void SchedulerState::find_again(Live& job, double at_s) {
  const JobRecord& record = *job.record;
  if (record.running() == nullptr) {
    follow_up(job, at_s);  // the journal knows that it ended and not yet what was made of it
    return;
  }
  const RunId run{record.id, record.running()->start.attempt};
  auto found = executor.find(launch_spec(record));
  if (!found) {
    // It may be running: a second attempt beside it would be worse than none.
    make(run.job,
         JobEnded{.attempt = run.attempt,
                  .exit = {.end = RunEnd::Lost, .detail = found.error().message, .at_s = at_s}},
         at_s);
    make(run.job, JobClosed{.end = RunEnd::Lost, .reason = found.error().message}, at_s);
    return;
  }
  switch (found->state) {
    case FoundRun::State::Running:
      if (record.state == JobState::Stopping) {
        orders.push_back({.kind = Order::Kind::Ask, .run = run});
      }
      return;
    case FoundRun::State::Ended:
      end_run(job, std::move(found->exit), at_s);
      return;
    case FoundRun::State::NeverBegan:
      break;
  }
  if (!record.stop_by.empty()) {
    end_run(job, {.end = RunEnd::NeverStarted, .detail = "stopped before it began"}, at_s);
    return;
  }
  const std::string why = "it had not begun when the server ended";
  make(run.job,
       JobEnded{.attempt = run.attempt,
                .exit = {.end = RunEnd::NeverStarted, .detail = why, .at_s = at_s}},
       at_s);
  make(run.job, JobRequeued{.reason = why}, at_s);
}

}  // namespace carpool::schedule
