// How much memory and time a job is expected to need: from its owner, from earlier runs of its
// owner's workload, and from its own failures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/job_history.hpp"
#include "schedule/job_table.hpp"

namespace carpool::schedule {

class JobNeeds {
 public:
  // `largest_gpu_bytes`: memory of the largest GPU.
  JobNeeds(std::uint64_t largest_gpu_bytes, bool use_history);

  // The memory of the largest GPU that a job can hope for.
  [[nodiscard]] std::uint64_t usable_bytes() const { return usable_bytes_; }

  // Brings need and run time of the job up to date.
  void update(LiveJob& job) const;

  void learn(const LiveJob& job, PastRun run);
  // From now on this is the history; learn() does nothing until resume_learning().
  void replace_history(JobHistory history);
  void resume_learning() { learning_ = true; }

 private:
  void update_memory(LiveJob& job) const;
  void update_time(LiveJob& job) const;

  bool use_history_;
  std::uint64_t usable_bytes_;
  JobHistory history_;
  std::uint64_t version_ = 1;  // of history_
  bool learning_ = true;       // off while events are replayed that history_ knows
};

}  // namespace carpool::schedule
