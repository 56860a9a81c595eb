#include "schedule/scheduler.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "schedule/backlog.hpp"
#include "schedule/event_log.hpp"
#include "schedule/fair_usage.hpp"
#include "schedule/job_needs.hpp"
#include "schedule/job_table.hpp"
#include "schedule/occupancy.hpp"
#include "schedule/planner.hpp"
#include "schedule/run_control.hpp"
#include "schedule/submission_check.hpp"
#include "schedule/timers.hpp"
#include "schedule/trouble_pauses.hpp"

namespace carpool::schedule {

// Each part uses only those above it.
struct Scheduler::Parts {
  Parts(const SchedulerSettings& chosen,
        std::vector<GpuView> gpus,
        const PlacementPolicy& placement,
        const InterferenceModel& model,
        JobJournal& kept_in,
        Executor& executor,
        Learner* taught)
      : settings(chosen),
        interference(model),
        learner(taught),
        journal(kept_in),
        jobs(kept_in, chosen.keep_ended),
        occupancy(std::move(gpus), model, chosen.peak_stable_s),
        needs(occupancy.largest_memory(), chosen.use_history),
        backlog(settings, needs),
        events({.jobs = jobs,
                .needs = needs,
                .backlog = backlog,
                .occupancy = occupancy,
                .usage = usage,
                .timers = timers},
               chosen.stop_grace_s),
        runs(settings, needs, jobs, occupancy, timers, pauses, events, executor),
        planner(settings, placement, model, jobs, backlog, usage, occupancy, pauses, runs) {}

  SchedulerSettings settings;
  const InterferenceModel& interference;
  Learner* learner;
  JobJournal& journal;
  std::function<void(const JobEvent&)> listener;
  JobTable jobs;
  Occupancy occupancy;
  FairUsage usage;
  Timers timers;
  TroublePauses pauses;
  JobNeeds needs;
  Backlog backlog;
  EventLog events;
  RunControl runs;
  Planner planner;
};

Scheduler::Scheduler(const SchedulerSettings& settings,
                     std::vector<GpuView> gpus,
                     const PlacementPolicy& policy,
                     const InterferenceModel& interference,
                     JobJournal& journal,
                     Executor& executor,
                     Learner* learner)
    : parts_(std::make_unique<Parts>(
          settings, std::move(gpus), policy, interference, journal, executor, learner)) {}

Scheduler::~Scheduler() = default;

Result<void> Scheduler::recover(double now_s) {
  auto past = parts_->journal.history();
  if (!past) {
    return tl::unexpected(past.error());
  }
  if (*past) {
    parts_->needs.replace_history(std::move(**past));
  }
  Result<void> fits;
  const auto replayed = parts_->journal.replay([&](const JobEvent& event) {
    parts_->events.advance(event.at_s);
    if (fits) {
      fits = parts_->events.apply(event);
    }
  });
  parts_->needs.resume_learning();
  if (!replayed || !fits) {
    return replayed ? fits : replayed;
  }
  const auto highest = parts_->journal.last_job();
  if (!highest) {
    return tl::unexpected(highest.error());
  }
  parts_->jobs.raise_last_job(*highest);
  parts_->events.advance(now_s);
  const double at_s = parts_->events.now_s();
  for (const JobId job : parts_->jobs.begun()) {
    parts_->runs.find_again(*parts_->jobs.live(job), at_s);
  }
  parts_->events.close_doomed(at_s);
  parts_->backlog.look_at(Look::Everything);
  return {};
}

Result<JobId> Scheduler::submit(JobSpec spec, JobOwner owner, double now_s) {
  if (auto checked = check_submission(spec, parts_->occupancy.views(), parts_->jobs); !checked) {
    return tl::unexpected(checked.error());
  }
  const std::size_t owned = parts_->jobs.live_jobs_of(owner.uid);
  if (owned >= parts_->settings.max_queued_per_user) {
    return fail(
        ErrorCode::LimitReached,
        fmt::format(
            "{} has {} jobs that have not ended, the maximum for one user", owner.user, owned));
  }
  const JobId job = parts_->jobs.last_job() + 1;
  parts_->events.emit(job, JobSubmitted{.spec = std::move(spec), .owner = std::move(owner)}, now_s);
  parts_->events.close_doomed(now_s);
  return job;
}

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

void Scheduler::set_draining(bool draining) {
  parts_->planner.set_draining(draining);
}

bool Scheduler::draining() const {
  return parts_->planner.draining();
}

void Scheduler::observe(const GpuObservation& observation, double now_s) {
  if (parts_->occupancy.observe(observation, now_s)) {
    parts_->backlog.look_at(Look::Everything);
  }
}

void Scheduler::step(double now_s) {
  parts_->events.advance(now_s);
  const double at_s = parts_->events.now_s();
  parts_->runs.find_unknown(at_s);
  parts_->runs.take_reports(at_s);
  parts_->runs.enforce_time(at_s);
  parts_->planner.decide(at_s);
}

std::optional<double> Scheduler::next_wakeup_s() const {
  std::optional<double> next = parts_->timers.next_s();
  for (const auto& other :
       {parts_->planner.next_wakeup_s(parts_->events.now_s()), parts_->runs.next_look_s()}) {
    if (other) {
      next = std::min(next.value_or(*other), *other);
    }
  }
  return next;
}

// Events become durable first; only then are listeners told and orders carried out. An order may
// cause further events (a launch that fails), hence the loop.
Result<void> Scheduler::flush() {
  EventLog& events = parts_->events;
  RunControl& runs = parts_->runs;
  while (!events.broken() && (!events.pending().empty() || runs.has_orders())) {
    if (!events.pending().empty()) {
      if (auto durable = parts_->journal.append(events.pending()); !durable) {
        return durable;
      }
      for (const JobEvent& event : events.take_pending()) {
        if (parts_->listener) {
          parts_->listener(event);
        }
      }
    }
    for (const RunOrder& order : runs.take_orders()) {
      runs.carry_out(order);
    }
  }
  return events.broken() ? Result<void>(tl::unexpected(*events.broken())) : Result<void>();
}

void Scheduler::on_event(std::function<void(const JobEvent&)> listener) {
  parts_->listener = std::move(listener);
}

const JobRecord* Scheduler::find(JobId job) const {
  return parts_->jobs.find(job);
}

std::vector<JobId> Scheduler::jobs() const {
  return parts_->jobs.ids();
}

std::span<const GpuView> Scheduler::gpus() const {
  parts_->occupancy.refresh(parts_->events.now_s());
  return parts_->occupancy.views();
}

std::size_t Scheduler::waiting() const {
  return parts_->backlog.line().size();
}

bool Scheduler::may_start(JobId job) const {
  return parts_->backlog.line().contains(job) &&
         !parts_->planner.paused(*std::as_const(parts_->jobs).live(job));
}

std::optional<Deferral> Scheduler::why_waiting(JobId job) const {
  return parts_->planner.why_waiting(job);
}

std::optional<QueuedJob> Scheduler::queued(JobId job) const {
  const LiveJob* found = parts_->jobs.live(job);
  if (found == nullptr || found->record->running() != nullptr) {
    return std::nullopt;
  }
  LiveJob copy = *found;
  parts_->backlog.update_view(copy, parts_->events.now_s());
  return copy.view;
}

PlacementDecision Scheduler::what_if(std::span<const GpuView> gpus,
                                     std::span<const QueuedJob* const> queue) const {
  return parts_->planner.what_if({.now_s = parts_->events.now_s(), .gpus = gpus, .queue = queue});
}

double Scheduler::now_s() const {
  return parts_->events.now_s();
}

const std::map<TroublePlace, Trouble>& Scheduler::troubles() const {
  return parts_->pauses.all();
}

std::size_t Scheduler::unknown_attempts() const {
  return parts_->runs.unknown();
}

std::uint64_t Scheduler::refused_placements() const {
  return parts_->planner.refused_placements();
}

const InterferenceModel& Scheduler::interference() const {
  return parts_->interference;
}

}  // namespace carpool::schedule
