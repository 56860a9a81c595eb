// The queue, the life of every job, and recovery. The scheduler has no thread, no clock and no
// files of its own: callers pass in what happened and the time, it writes events to a journal, and
// only then gives orders to an executor. Server and simulator run the same code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/executor.hpp"
#include "core/gpu_observation.hpp"
#include "core/job_event.hpp"
#include "core/job_journal.hpp"
#include "core/job_record.hpp"
#include "core/learner.hpp"
#include "core/placement_policy.hpp"
#include "schedule/advice/arrival.hpp"
#include "schedule/gpus/energy_ledger.hpp"
#include "schedule/runs/trouble_pauses.hpp"
#include "schedule/scheduler_settings.hpp"

namespace carpool::schedule {

struct SchedulerParts;

// For one thread at a time. Changes are queued as events until flush().
class Scheduler {
 public:
  // The references outlive it.
  Scheduler(const SchedulerSettings& settings,
            std::vector<GpuView> gpus,
            const PlacementPolicy& policy,
            const InterferenceModel& interference,
            JobJournal& journal,
            Executor& executor,
            Learner* learner = nullptr);  // null: none
  ~Scheduler();

  // Replays the journal and asks the executor what became of attempts that were running. `energy`:
  // what energy() returned last, before the restart.
  [[nodiscard]] Result<void> recover(double now_s, const EnergyRecord& energy = {});

  // Callers may acknowledge a request only after flush() succeeded.
  [[nodiscard]] Result<JobId> submit(JobSpec spec, JobOwner owner, double now_s);
  // What would become of this job if it were submitted now; changes nothing. An error: it would be
  // refused. Whether its owner has a place for it does not matter; has_place() tells.
  [[nodiscard]] Result<Arrival> arrival(const JobSpec& spec,
                                        const JobOwner& owner,
                                        bool hold) const;
  // LimitReached where a user may not submit this many jobs more.
  [[nodiscard]] Result<void> has_place(const JobOwner& owner, std::size_t jobs) const;
  [[nodiscard]] Result<void> cancel(JobId job, const std::string& by, double now_s);
  [[nodiscard]] Result<void> hold(JobId job, double now_s);
  [[nodiscard]] Result<void> release(JobId job, double now_s);
  // Changes what a waiting job requests, or the time limit of a running one. `change.by`: who asks.
  [[nodiscard]] Result<void> update(JobId job, JobUpdated change, double now_s);
  // Stops a running job and puts it back into the queue.
  [[nodiscard]] Result<void> requeue(JobId job, double now_s);

  // While draining no job starts; running jobs continue. `since`: for people, when and by whom.
  void set_draining(bool draining, std::string since = {});
  [[nodiscard]] bool draining() const;
  // A trouble of the machine that lets no job start until it is over; empty: it is.
  void set_closed(std::string why);
  // Why no job starts and what to do; empty: jobs start.
  [[nodiscard]] std::string why_no_starts() const;

  void observe(const GpuObservation& observation, double now_s);
  // Processes of a running job escape what enforces its cap; how, in words. Told once.
  void cap_escaped(JobId job, const std::string& how);
  // How they do; empty: they do not.
  [[nodiscard]] std::string cap_escape(JobId job) const;
  // Attributed to the running attempt of a job; empty: not known.
  [[nodiscard]] std::optional<double> energy_joules(JobId job) const;
  // Highest memory of the running attempt of a job on one GPU; empty: it was not seen there.
  [[nodiscard]] std::optional<std::uint64_t> peak_bytes(JobId job) const;
  // Of all running attempts, for recover().
  [[nodiscard]] EnergyRecord energy() const;
  // Share of the time in which the processors of the machine had nothing to do, 0 to 1.
  void observe_processors(double idle);
  // Takes the executor's reports, enforces time limits, starts jobs. Cheap when nothing changed.
  void step(double now_s);
  // When step() should be called at the latest; empty: when something happens.
  [[nodiscard]] std::optional<double> next_wakeup_s() const;

  // Makes events durable, then carries out the orders that follow from them. After an error nothing
  // was acknowledged and nothing was ordered; the caller ends the server.
  [[nodiscard]] Result<void> flush();
  // Events that flush() has yet to make durable.
  [[nodiscard]] std::size_t unflushed() const;

  // Called by flush() for every event once it is durable.
  void on_event(std::function<void(const JobEvent&)> listener);

  // Null: no such job, or it ended before the last `keep_ended` ones.
  [[nodiscard]] const JobRecord* find(JobId job) const;
  // Ids of queued, running and ended jobs, in the order of submission.
  [[nodiscard]] std::vector<JobId> jobs() const;
  [[nodiscard]] std::span<const GpuView> gpus() const;
  // Why this job waits, from the last decision; empty when it does not wait.
  [[nodiscard]] std::optional<Deferral> why_waiting(JobId job) const;
  [[nodiscard]] std::size_t waiting() const;      // jobs that may start
  [[nodiscard]] bool may_start(JobId job) const;  // it waits for a GPU or its turn only

  // As the policy would see this job now; empty: it does not wait.
  [[nodiscard]] std::optional<QueuedJob> queued(JobId job) const;
  // As the policy saw it last, whether it waits or runs; empty: it has ended.
  [[nodiscard]] std::optional<QueuedJob> last_view(JobId job) const;
  // Placements of the policy that were refused since the start (placement_guard.hpp).
  [[nodiscard]] std::uint64_t refused_placements() const;
  // Decisions since the start that a job waits, by what it waits for; a job that waits is counted
  // at each decision about it.
  [[nodiscard]] const std::map<Constraint, std::uint64_t>& deferrals_made() const;
  // Waiting jobs that the last decision was about, by what they wait for.
  [[nodiscard]] std::map<Constraint, std::uint64_t> deferred_now() const;
  // Attempts that ran out of memory below their cap, because their GPU was full.
  [[nodiscard]] std::uint64_t full_gpu_ends() const;
  // The latest time that it was told, or that is in the journal.
  [[nodiscard]] double now_s() const;
  // Where the machine could not start jobs.
  [[nodiscard]] const std::map<TroublePlace, Trouble>& troubles() const;
  // Attempts of before a restart about which the executor has no answer yet.
  [[nodiscard]] std::size_t unknown_attempts() const;
  // What the policy would answer to other GPUs or another queue; changes nothing.
  [[nodiscard]] PlacementDecision what_if(std::span<const GpuView> gpus,
                                          std::span<const QueuedJob* const> queue) const;
  // Whether the policy starts this job on empty GPUs only, and nothing beside it.
  [[nodiscard]] bool runs_alone(const QueuedJob& job) const;
  [[nodiscard]] const InterferenceModel& interference() const;

 private:
  std::unique_ptr<SchedulerParts> parts_;
};

}  // namespace carpool::schedule
