// The events of jobs. emit() changes the state at once, so that what follows in the same batch sees
// it, and queues the event for the journal; apply() is that change, the same for an event of now
// and for one of the journal. Nothing else changes what the scheduler knows of a job.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "core/job_event.hpp"
#include "schedule/backlog.hpp"
#include "schedule/fair_usage.hpp"
#include "schedule/gpus/occupancy.hpp"
#include "schedule/job_needs.hpp"
#include "schedule/job_table.hpp"
#include "schedule/runs/timers.hpp"

namespace carpool::schedule {

// What events change.
struct EventTargets {
  JobTable& jobs;
  JobNeeds& needs;
  Backlog& backlog;
  Occupancy& occupancy;
  FairUsage& usage;
  Timers& timers;
};

class EventLog {
 public:
  EventLog(const EventTargets& targets, double stop_grace_s)
      : on_(targets), stop_grace_s_(stop_grace_s) {}

  // The time never goes back.
  void advance(double now_s);
  [[nodiscard]] double now_s() const { return now_s_; }

  void emit(JobId job, decltype(JobEvent::what) what, double at_s);
  [[nodiscard]] Result<void> apply(const JobEvent& event);
  // Closes the jobs that wait for one that did not succeed, and those that wait for them.
  void close_doomed(double at_s);

  // Events that the journal does not have yet.
  [[nodiscard]] std::span<JobEvent> pending() { return pending_; }
  [[nodiscard]] std::vector<JobEvent> take_pending();
  // An emitted event that did not fit its job: a bug.
  [[nodiscard]] const std::optional<Error>& broken() const { return broken_; }

 private:
  void updated(LiveJob& job, const JobUpdated& update, double at_s);
  void started(LiveJob& job, double at_s);
  void charge(LiveJob& job, double at_s);
  void stop_charging(LiveJob& job, double at_s);
  void paused(LiveJob& job, const JobPaused& pause, double at_s);
  void resumed(LiveJob& job, double at_s);
  void ended(LiveJob& job, double at_s);
  void closed(JobId job, RunEnd end, double at_s);

  EventTargets on_;
  double stop_grace_s_;
  double now_s_ = 0.0;
  std::vector<JobEvent> pending_;
  std::optional<Error> broken_;
};

}  // namespace carpool::schedule
