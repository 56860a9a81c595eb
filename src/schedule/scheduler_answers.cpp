// What the scheduler answers; nothing here changes anything.
#include <utility>

#include <fmt/format.h>

#include "schedule/scheduler_parts.hpp"
#include "schedule/submission_check.hpp"

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

Result<void> Scheduler::has_place(const JobOwner& owner, std::size_t jobs) const {
  const std::size_t owned = parts_->jobs.live_jobs_of(owner.uid);
  const std::size_t most = parts_->settings.max_queued_per_user;
  if (owned + jobs <= most) {
    return {};
  }
  return fail(
      ErrorCode::LimitReached,
      owned >= most
          ? fmt::format(
                "{} has {} jobs that have not ended, the maximum for one user", owner.user, owned)
          : fmt::format("{} has {} jobs that have not ended; with {} more there would be "
                        "more than {}, the maximum for one user",
                        owner.user,
                        owned,
                        jobs,
                        most));
}

Result<Arrival> Scheduler::arrival(const JobSpec& spec, const JobOwner& owner, bool hold) const {
  if (auto checked = check_submission(spec, gpus(), parts_->jobs); !checked) {
    return tl::unexpected(checked.error());
  }
  const double now_s = parts_->events.now_s();
  JobRecord record;
  const JobId id = parts_->jobs.last_job() + 1;
  Result<void> applied = carpool::apply(
      record, {.job = id, .at_s = now_s, .what = JobSubmitted{.spec = spec, .owner = owner}});
  if (applied && hold) {
    applied = carpool::apply(record, {.job = id, .at_s = now_s, .what = JobHeld{}});
  }
  if (!applied) {
    return tl::unexpected(applied.error());
  }
  return parts_->jobs.newcomer(record).map([&](JobTable::Newcomer newcomer) {
    parts_->backlog.update_view(newcomer.job, now_s);
    if (newcomer.doomed) {
      return Arrival{
          .job = newcomer.job.view,
          .cancelled = Deferral{
              .job = id, .constraint = Constraint::Order, .reason = newcomer.doomed->reason()}};
    }
    return parts_->planner.arrival(newcomer.job, now_s);
  });
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

bool Scheduler::runs_alone(const QueuedJob& job) const {
  return job.exclusive || (job.gpus > 1 && !parts_->planner.shares_several());
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
