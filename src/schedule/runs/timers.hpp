// When running jobs reach their time limit, and when jobs that were asked to stop are killed.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/job.hpp"

namespace carpool::schedule {

// A job has at most one timer.
class Timers {
 public:
  // Each replaces the job's timer.
  void set_limit(JobId job, double due_s);
  void set_kill(JobId job, double due_s);
  void drop(JobId job);

  // The first job whose timer is due; empty: none.
  [[nodiscard]] std::optional<JobId> due_limit(double now_s) const { return due(limits_, now_s); }
  [[nodiscard]] std::optional<JobId> due_kill(double now_s) const { return due(kills_, now_s); }
  // When the next timer is due.
  [[nodiscard]] std::optional<double> next_s() const;

 private:
  using Queue = std::set<std::pair<double, JobId>>;

  [[nodiscard]] static std::optional<JobId> due(const Queue& queue, double now_s);

  Queue limits_;
  Queue kills_;
  std::unordered_map<JobId, double> due_s_;
};

}  // namespace carpool::schedule
