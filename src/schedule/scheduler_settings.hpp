// The settings of a scheduler.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>

#include "core/job.hpp"
#include "schedule/gpus/job_reservation.hpp"
#include "schedule/gpus/lent_memory.hpp"
#include "schedule/queue_order.hpp"
#include "schedule/recovery.hpp"
#include "schedule/waiting_line.hpp"

namespace carpool::schedule {

struct SchedulerSettings {
  QueueOrder order = QueueOrder::Fair;
  RecoveryRule recovery = RecoveryRule::Reserve;
  unsigned max_out_of_memory = 5;  // out-of-memory failures of one job before it is given up
  double stop_grace_s = 30.0;      // between the request to stop and the kill
  unsigned max_queued_per_user = 100000;
  PatienceRules patience{};  // of the order Fair
  bool use_history = true;   // for memory needs and run times that the owner did not give
  ReservationRules reservation{};
  LentMemoryRules lent_memory{};
  // Whether a job runs with the library that limits the memory of all its processes together, with
  // and without MPS (docs/shim.md). Empty: none does.
  std::function<bool(const JobSpec&)> guarded{};
  // How people read a time of the scheduler's clock. Empty: as a number of seconds.
  std::function<std::string(double)> time_text{};
  double longest_pause_s = 3600.0;  // of a job that the policy paused
  std::size_t depth = 200;          // jobs of the queue that the policy sees at once
  bool backfill = true;             // as PolicySettings::backfill: what the policy will do
  std::size_t keep_ended = std::numeric_limits<std::size_t>::max();  // records of ended jobs
};

}  // namespace carpool::schedule
