// Decides which jobs start, stand still and go on: asks the policy, and reserves GPUs for a job at
// the front that has waited too long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/interference_model.hpp"
#include "core/placement_policy.hpp"
#include "schedule/advice/arrival.hpp"
#include "schedule/backlog.hpp"
#include "schedule/fair_usage.hpp"
#include "schedule/gpus/occupancy.hpp"
#include "schedule/group_looks.hpp"
#include "schedule/job_table.hpp"
#include "schedule/runs/run_control.hpp"
#include "schedule/runs/trouble_pauses.hpp"
#include "schedule/scheduler_settings.hpp"
#include "schedule/turn_looks.hpp"

namespace carpool::schedule {

class Planner {
 public:
  // All references outlive it.
  Planner(const SchedulerSettings& settings,
          const PlacementPolicy& policy,
          const InterferenceModel& interference,
          JobTable& jobs,
          Backlog& backlog,
          const FairUsage& usage,
          Occupancy& occupancy,
          TroublePauses& pauses,
          RunControl& runs,
          bool learns);  // the model learns from running jobs

  // Starts what may start now, and lets jobs stand still or go on. Cheap when nothing changed.
  void decide(double at_s);
  // When decide() may have an answer though nothing happened; empty: never.
  [[nodiscard]] std::optional<double> next_wakeup_s(double now_s) const;

  // Why this job waits, from the last decision; empty when it does not wait.
  [[nodiscard]] std::optional<Deferral> why_waiting(JobId job) const;
  // The job waits because the machine could not start it, or others like it.
  [[nodiscard]] bool paused(const LiveJob& job) const;

  // What would become of a job that is not in the queue and came now; changes nothing.
  [[nodiscard]] Arrival arrival(const LiveJob& job, double at_s) const;
  // What the policy would answer to this snapshot, without what would be refused; changes nothing.
  [[nodiscard]] PlacementDecision what_if(ClusterSnapshot cluster) const;
  [[nodiscard]] bool shares_several() const { return policy_.shares_several(); }
  // Placements that broke a rule of placement_guard.hpp, or were of jobs that the policy was not
  // asked about.
  [[nodiscard]] std::uint64_t refused_placements() const { return refused_placements_; }

  // `since`: for people, when and by whom.
  void set_draining(bool draining, std::string since);
  void set_processors_idle(double idle) { processors_idle_ = idle; }
  [[nodiscard]] bool draining() const { return draining_; }
  // Why no job starts; empty: jobs start.
  [[nodiscard]] std::string why_no_starts() const;
  // A trouble of the machine that lets no job start until it is over; empty: it is.
  void set_closed(std::string why);

 private:
  // Brings pauses, and the GPUs that are set aside, up to date.
  void update_pauses(double at_s);
  void set_gpus_aside(double at_s);
  [[nodiscard]] std::string why_closed(const QueuedJob& job,
                                       std::span<const unsigned> gpus,
                                       double at_s) const;
  [[nodiscard]] std::string gpus_aside() const;
  // Why the policy is not asked about a job that waits; empty: it is. `begin_s`: its time to begin,
  // where that is not reached.
  [[nodiscard]] std::optional<Deferral> why_not_asked(const LiveJob& job,
                                                      std::optional<double> begin_s) const;
  // Whether the decision starts the job.
  void answer(const PlacementDecision& decision, Arrival& out, double at_s) const;
  [[nodiscard]] Deferral too_far_back(JobId job, std::size_t waiting) const;
  [[nodiscard]] WaitingLine::UserWeight user_weights(double at_s) const;
  void decide_all(double at_s);
  void decide_newcomers(double at_s);
  [[nodiscard]] std::size_t decide_front(WaitingLine::Front looked, double at_s);
  [[nodiscard]] WaitingLine::Front front(std::size_t most, double at_s);
  [[nodiscard]] std::size_t ask_policy(std::span<const JobId> jobs, double at_s);
  [[nodiscard]] std::size_t ask_beside_reserved(std::span<const JobId> jobs, double at_s);
  [[nodiscard]] FrontReservation reservation_for(const LiveJob& job, double at_s) const;
  [[nodiscard]] std::size_t put_question(std::span<const JobId> jobs, double at_s);
  [[nodiscard]] bool some_may_start() const {
    return !draining_ && closed_.empty() && backlog_.line().size() > 0;
  }
  // Running jobs: what the policy wants to stand still or go on.
  void note_groups(double at_s);
  void look_if_due(double at_s);
  void ask_about_groups(double at_s);
  void follow_pauses(const PlacementDecision& decision, double at_s);
  void end_pauses(double at_s);
  // False: refused.
  [[nodiscard]] bool start(const Placement& placement, double at_s);
  void refused(const std::string& message);

  const SchedulerSettings& settings_;
  const PlacementPolicy& policy_;
  const InterferenceModel& interference_;
  JobTable& jobs_;
  Backlog& backlog_;
  const FairUsage& usage_;
  Occupancy& occupancy_;
  TroublePauses& pauses_;
  RunControl& runs_;
  bool learns_;
  GroupLooks looks_;
  TurnLooks turns_;
  std::uint64_t group_changes_seen_ = 0;
  std::optional<double> pause_ends_s_;  // when a pause reaches its longest time
  bool draining_ = false;
  std::string drained_since_;
  std::string closed_;
  std::optional<double> processors_idle_;
  bool some_aside_ = false;
  bool held_back_ = false;  // a placement, because one attempt is to try first
  std::optional<double> ask_again_s_;
  double decided_s_ = -1.0;      // when last
  std::uint64_t questions_ = 0;  // that the policy was asked
  std::uint64_t started_ = 0;    // attempts
  std::uint64_t refused_placements_ = 0;
};

}  // namespace carpool::schedule
