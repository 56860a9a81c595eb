#include "schedule/scheduler.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/text/memory_size.hpp"
#include "schedule/scheduler_parts.hpp"
#include "schedule/submission_check.hpp"

namespace carpool::schedule {

Scheduler::Scheduler(const SchedulerSettings& settings,
                     std::vector<GpuView> gpus,
                     const PlacementPolicy& policy,
                     const InterferenceModel& interference,
                     JobJournal& journal,
                     Executor& executor,
                     Learner* learner)
    : parts_(std::make_unique<SchedulerParts>(
          settings, std::move(gpus), policy, interference, journal, executor, learner)) {}

Scheduler::~Scheduler() = default;

Result<void> Scheduler::recover(double now_s, const EnergyRecord& energy) {
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
  parts_->occupancy.forget_starts();
  parts_->restore_energy(energy);
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
  if (auto place = has_place(owner, 1); !place) {
    return tl::unexpected(place.error());
  }
  const JobId job = parts_->jobs.last_job() + 1;
  parts_->events.emit(job, JobSubmitted{.spec = std::move(spec), .owner = std::move(owner)}, now_s);
  parts_->events.close_doomed(now_s);
  return job;
}

void Scheduler::set_draining(bool draining, std::string since) {
  parts_->planner.set_draining(draining, std::move(since));
}

void Scheduler::set_closed(std::string why) {
  parts_->planner.set_closed(std::move(why));
}

std::string Scheduler::why_no_starts() const {
  return parts_->planner.why_no_starts();
}

bool Scheduler::draining() const {
  return parts_->planner.draining();
}

void Scheduler::observe(const GpuObservation& observation, double now_s) {
  if (parts_->occupancy.observe(observation, now_s)) {
    parts_->backlog.look_at(Look::Everything);
  }
  parts_->watch_lent_memory(observation.gpu, now_s);
  if (parts_->learner != nullptr) {
    const GroupSeen seen = parts_->occupancy.group_seen(observation, now_s);
    if (!seen.computing.empty()) {
      parts_->learner->saw(seen);
      parts_->occupancy.learned_of(observation.gpu);
    }
  }
}

void Scheduler::cap_escaped(JobId job, const std::string& how) {
  std::erase_if(parts_->escapes, [&](const auto& entry) {
    const LiveJob* live = parts_->jobs.live(entry.first.job);
    return live == nullptr || live->record->running() == nullptr;
  });
  const LiveJob* live = parts_->jobs.live(job);
  const JobAttempt* running = live == nullptr ? nullptr : live->record->running();
  if (running == nullptr ||
      !parts_->escapes.try_emplace({job, running->start.attempt}, how).second) {
    return;
  }
  parts_->occupancy.lose_cap(job);
  log_warning(fmt::format("job {}: its cap is not enforced: {}", job, how));
}

void Scheduler::observe_processors(double idle) {
  parts_->planner.set_processors_idle(idle);
}

// MPS refuses no allocation of these: each process is within its own limit.
void SchedulerParts::send_back_over_cap(const GpuView& gpu, double at_s) {
  for (const Occupancy::OverCap& over : occupancy.over_cap(gpu)) {
    const LiveJob& job = *jobs.live(over.job);
    if (job.record->state == JobState::Running) {
      runs.send_back_for_memory(
          job,
          std::max(2 * over.cap_bytes, over.used_bytes + over.used_bytes / 2),
          fmt::format("its {} processes on GPU {} took {} together, more than the {} that it may "
                      "use, and no more is free",
                      over.processes,
                      gpu.index,
                      gib_text(over.used_bytes),
                      gib_text(over.cap_bytes)),
          at_s);
    }
  }
}

void SchedulerParts::watch_lent_memory(unsigned index, double now_s) {
  const GpuView* gpu = occupancy.find(index);
  if (gpu == nullptr || gpu->residents.empty()) {
    return;
  }
  events.advance(now_s);
  const double at_s = events.now_s();
  send_back_over_cap(*gpu, at_s);
  for (const LentMemory::Order& order : lent.observe(*gpu, occupancy.exceeded(*gpu), at_s)) {
    const LiveJob& job = *jobs.live(order.job);
    if (job.record->state != JobState::Running) {
      continue;
    }
    switch (order.kind) {
      case LentMemory::Order::Kind::Pause:
        runs.pause(job, PauseCause::Memory, order.reason, at_s);
        break;
      case LentMemory::Order::Kind::Resume:
        occupancy.raise_reservation(order.job, order.reserve_bytes, at_s);
        runs.resume(job, order.reason, at_s);
        break;
      case LentMemory::Order::Kind::Requeue:
        runs.send_back_for_memory(job, order.reserve_bytes, order.reason, at_s);
        break;
    }
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

std::size_t Scheduler::unflushed() const {
  return parts_->events.pending().size();
}

void Scheduler::on_event(std::function<void(const JobEvent&)> listener) {
  parts_->listener = std::move(listener);
}

}  // namespace carpool::schedule
