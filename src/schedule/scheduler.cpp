#include "schedule/scheduler.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "schedule/scheduler_state.hpp"

namespace carpool::schedule {

Scheduler::Scheduler(const SchedulerSettings& settings,
                     std::vector<GpuView> gpus,
                     const PlacementPolicy& policy,
                     const InterferenceModel& interference,
                     JobJournal& journal,
                     Executor& executor)
    : state_(std::make_unique<SchedulerState>(
          settings, std::move(gpus), policy, interference, journal, executor)) {}

Scheduler::~Scheduler() = default;

Result<void> Scheduler::recover(double now_s) {
  return state_->recover(now_s);
}

Result<JobId> Scheduler::submit(JobSpec spec, JobOwner owner, double now_s) {
  if (auto checked = state_->check(spec); !checked) {
    return tl::unexpected(checked.error());
  }
  const auto owned = state_->jobs_of_user.find(owner.uid);
  if (owned != state_->jobs_of_user.end() &&
      owned->second >= state_->settings.max_queued_per_user) {
    return invalid_input(
        fmt::format("{} has {} jobs that have not ended, which is the most that one user may have",
                    owner.user,
                    owned->second));
  }
  const JobId job = state_->last_job + 1;
  state_->make(job, JobSubmitted{.spec = std::move(spec), .owner = std::move(owner)}, now_s);
  state_->close_doomed(now_s);
  return job;
}

Result<void> Scheduler::cancel(JobId job, const std::string& by, double now_s) {
  auto found = state_->live_or_error(job);
  if (!found) {
    return tl::unexpected(found.error());
  }
  const JobRecord& record = *(*found)->record;
  if (record.running() == nullptr) {
    state_->make(job,
                 JobClosed{.end = RunEnd::Cancelled, .reason = fmt::format("cancelled by {}", by)},
                 now_s);
    state_->close_doomed(now_s);
  } else if (!record.stop_final) {
    state_->ask_to_stop(**found, by, /*final=*/true, now_s);
  }
  return {};
}

Result<void> Scheduler::hold(JobId job, double now_s) {
  auto found = state_->live_or_error(job);
  if (!found) {
    return tl::unexpected(found.error());
  }
  const JobState state = (*found)->record->state;
  if (state != JobState::Queued && state != JobState::Held) {
    return invalid_input(fmt::format("job {} runs; only a waiting job can be held", job));
  }
  if (state == JobState::Queued) {
    state_->make(job, JobHeld{}, now_s);
  }
  return {};
}

Result<void> Scheduler::release(JobId job, double now_s) {
  auto found = state_->live_or_error(job);
  if (!found) {
    return tl::unexpected(found.error());
  }
  if ((*found)->record->state == JobState::Held) {
    state_->make(job, JobReleased{}, now_s);
  }
  return {};
}

Result<void> Scheduler::requeue(JobId job, double now_s) {
  auto found = state_->live_or_error(job);
  if (!found) {
    return tl::unexpected(found.error());
  }
  const JobRecord& record = *(*found)->record;
  if (record.running() == nullptr) {
    return invalid_input(fmt::format("job {} waits already", job));
  }
  if (record.stop_final) {
    return invalid_input(fmt::format("job {} is being stopped for {}", job, record.stop_by));
  }
  if (record.stop_by.empty()) {
    state_->ask_to_stop(**found, "request", /*final=*/false, now_s);
  }
  return {};
}

void Scheduler::set_draining(bool draining) {
  state_->draining = draining;
  state_->look_at(SchedulerState::Look::Everything);
}

bool Scheduler::draining() const {
  return state_->draining;
}

void Scheduler::observe(const GpuObservation& observation, double now_s) {
  if (state_->occupancy.observe(observation, now_s)) {
    state_->look_at(SchedulerState::Look::Everything);
  }
}

void Scheduler::step(double now_s) {
  state_->now_s = std::max(state_->now_s, now_s);
  state_->take_reports(state_->now_s);
  state_->enforce_time(state_->now_s);
  state_->decide(state_->now_s);
}

std::optional<double> Scheduler::next_wakeup_s() const {
  std::optional<double> next;
  const auto consider = [&](std::optional<double> when) {
    if (when) {
      next = std::min(next.value_or(*when), *when);
    }
  };
  for (const auto* timers : {&state_->limits, &state_->kills}) {
    if (!timers->empty()) {
      consider(timers->begin()->first);
    }
  }
  if (!state_->draining && state_->line.size() > 0) {
    consider(state_->ask_again_s);
    consider(state_->line.next_impatient_s(state_->decided_s));
    if (state_->look != SchedulerState::Look::Nothing) {
      consider(state_->now_s);
    }
  }
  return next;
}

Result<void> Scheduler::flush() {
  return state_->flush();
}

void Scheduler::on_event(std::function<void(const JobEvent&)> listener) {
  state_->listener = std::move(listener);
}

const JobRecord* Scheduler::find(JobId job) const {
  const auto found = state_->records.find(job);
  return found == state_->records.end() ? nullptr : &found->second;
}

std::vector<JobId> Scheduler::jobs() const {
  std::vector<JobId> ids;
  ids.reserve(state_->records.size());
  for (const auto& [id, record] : state_->records) {
    ids.push_back(id);
  }
  return ids;
}

std::span<const GpuView> Scheduler::gpus() const {
  state_->occupancy.refresh(state_->now_s);
  return state_->occupancy.views();
}

std::size_t Scheduler::waiting() const {
  return state_->line.size();
}

bool Scheduler::may_start(JobId job) const {
  return state_->line.contains(job);
}

std::optional<Deferral> Scheduler::why_waiting(JobId job) const {
  const auto found = state_->living.find(job);
  if (found == state_->living.end() || found->second.record->running() != nullptr) {
    return std::nullopt;
  }
  const JobRecord& record = *found->second.record;
  Deferral deferral{.job = job, .constraint = Constraint::Order};
  if (record.state == JobState::Held) {
    deferral.reason = "held until it is released";
  } else if (found->second.after > 0) {
    deferral.reason = "waits for other jobs to succeed:";
    for (const JobId other : record.spec.after) {
      const JobRecord* before = find(other);
      if (before != nullptr && !before->over()) {
        deferral.reason += fmt::format(" {}", other);
      }
    }
  } else if (state_->draining) {
    deferral.reason = "the server starts no more jobs (drain)";
  } else if (const auto last = state_->deferrals.find(job); last != state_->deferrals.end()) {
    return last->second;
  } else {
    deferral.reason = fmt::format("others go first: {} jobs may start, the first {} are looked at",
                                  state_->line.size(),
                                  state_->settings.depth);
  }
  return deferral;
}

std::optional<QueuedJob> Scheduler::queued(JobId job) const {
  const auto found = state_->living.find(job);
  if (found == state_->living.end() || found->second.record->running() != nullptr) {
    return std::nullopt;
  }
  SchedulerState::Live copy = found->second;
  state_->update_view(copy, state_->now_s);
  return copy.view;
}

PlacementDecision Scheduler::what_if(std::span<const GpuView> gpus,
                                     std::span<const QueuedJob* const> queue) const {
  return state_->policy.decide({.now_s = state_->now_s, .gpus = gpus, .queue = queue},
                               state_->interference);
}

const InterferenceModel& Scheduler::interference() const {
  return state_->interference;
}

}  // namespace carpool::schedule
