// Attempts: what the executor is ordered to do once the events that lead to it are durable, and
// what follows from an attempt's end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/executor.hpp"
#include "core/learner.hpp"
#include "core/placement_policy.hpp"
#include "schedule/event_log.hpp"
#include "schedule/gpus/mps_faults.hpp"
#include "schedule/gpus/occupancy.hpp"
#include "schedule/job_table.hpp"
#include "schedule/runs/attempt_outcome.hpp"
#include "schedule/runs/timers.hpp"
#include "schedule/runs/trouble_pauses.hpp"
#include "schedule/scheduler_settings.hpp"

namespace carpool::schedule {

// For the executor.
struct RunOrder {
  enum class Kind { Launch, Ask, Kill, Pause, Resume } kind = Kind::Launch;
  RunId run{};
};

class RunControl {
 public:
  // All references outlive it.
  RunControl(const SchedulerSettings& settings,
             const JobNeeds& needs,
             JobTable& jobs,
             Occupancy& occupancy,
             Timers& timers,
             TroublePauses& pauses,
             EventLog& events,
             Executor& executor,
             Learner* learner);  // null: none

  // The job is in the queue, and the placement was checked.
  void start(const Placement& placement, double at_s);
  // The job is running.
  void ask_to_stop(const LiveJob& job, const std::string& by, bool final, double at_s);
  // The job is running and not paused; it is paused.
  void pause(const LiveJob& job, PauseCause cause, const std::string& reason, double at_s);
  void resume(const LiveJob& job, const std::string& reason, double at_s);
  // The job is running and needs more memory than was kept for it. It is killed, since it would
  // grow further while it ends by itself, and goes back to its place in the queue.
  void send_back_for_memory(const LiveJob& job,
                            std::uint64_t reserve_bytes,
                            const std::string& reason,
                            double at_s);
  void take_reports(double at_s);
  // Stops jobs that ran past their limit; kills those that do not stop.
  void enforce_time(double at_s);
  // After a restart: goes on with what the journal says began and not what became of it. An attempt
  // about which the executor has no answer counts as running, and is asked about again.
  void find_again(LiveJob& job, double at_s);
  void find_unknown(double at_s);
  [[nodiscard]] std::size_t unknown() const { return unknown_.size(); }
  // When find_unknown() asks next.
  [[nodiscard]] std::optional<double> next_look_s() const;

  // Attempts that ran out of memory below their cap, because their GPU was full.
  [[nodiscard]] std::uint64_t full_gpu_ends() const { return full_gpu_ends_; }

  // Orders that were given and not carried out.
  [[nodiscard]] bool has_orders() const { return !orders_.empty(); }
  [[nodiscard]] std::vector<RunOrder> take_orders();
  // Only once the events that led to it are durable. May emit further events.
  void carry_out(const RunOrder& order);

 private:
  [[nodiscard]] LaunchSpec launch_spec(const JobRecord& job) const;
  void take_report(RunReport report, double at_s);
  [[nodiscard]] bool is_guarded(const JobRecord& job) const {
    return guarded_ && guarded_(job.spec);
  }
  void judge_memory(const JobRecord& job, RunExit& exit, const WatchedRun& watched);
  [[nodiscard]] bool room_left(const JobStarted& start, const RunExit& exit) const;
  void judge_fault(const JobRecord& job, RunExit& exit, double at_s);
  void teach(const LiveJob& job, const RunExit& exit, const WatchedRun& watched) const;
  void end_run(const LiveJob& job, RunExit exit, double at_s);
  void note_trouble(const JobRecord& job, const RunExit& exit, double at_s);
  void order_again(const JobRecord& job, const RunId& run);
  void cannot_find(JobId job, const Error& error, double at_s);
  void follow_up(const LiveJob& job, double at_s);

  OutcomeRules outcome_rules_;
  std::function<bool(const JobSpec&)> guarded_;
  double stop_grace_s_;
  JobTable& jobs_;
  Occupancy& occupancy_;
  Timers& timers_;
  TroublePauses& pauses_;
  EventLog& events_;
  Executor& executor_;
  Learner* learner_;
  MpsFaults faults_;
  std::uint64_t full_gpu_ends_ = 0;
  std::vector<RunOrder> orders_;
  // Attempts about which the executor had no answer.
  struct LookAgain {
    double at_s = 0.0;
    double pause_s = 0.0;
  };
  std::unordered_map<JobId, LookAgain> unknown_;
};

}  // namespace carpool::schedule
