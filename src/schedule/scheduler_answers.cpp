// What the scheduler answers; nothing here changes anything.
#include <utility>

#include "schedule/scheduler_parts.hpp"

namespace carpool::schedule {

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

std::string Scheduler::cap_escape(JobId job) const {
  const JobRecord* record = find(job);
  const JobAttempt* running = record == nullptr ? nullptr : record->running();
  const auto found = running == nullptr ? parts_->escapes.end()
                                        : parts_->escapes.find({job, running->start.attempt});
  return found == parts_->escapes.end() ? std::string() : found->second;
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

std::optional<QueuedJob> Scheduler::last_view(JobId job) const {
  const LiveJob* found = std::as_const(parts_->jobs).live(job);
  return found == nullptr ? std::nullopt : std::optional(found->view);
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

std::uint64_t Scheduler::full_gpu_ends() const {
  return parts_->runs.full_gpu_ends();
}

std::uint64_t Scheduler::refused_placements() const {
  return parts_->planner.refused_placements();
}

const std::map<Constraint, std::uint64_t>& Scheduler::deferrals_made() const {
  return parts_->backlog.deferrals_made();
}

std::map<Constraint, std::uint64_t> Scheduler::deferred_now() const {
  return parts_->backlog.deferred_now();
}

const InterferenceModel& Scheduler::interference() const {
  return parts_->interference;
}

}  // namespace carpool::schedule
