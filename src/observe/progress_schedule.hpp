// When the launches of jobs are counted: soon after each change of what computes on a GPU, and
// seldom at rest. All jobs of a GPU are counted at the same time, so that their rates are of the
// same group.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/job.hpp"

namespace carpool::observe {

struct WindowTimes {
  double after_newcomer_s = 5.0;  // a job that begins to compute warms up first
  double again_s = 10.0;          // after that window: the newcomer may still have set up then
  double after_change_s = 3.0;    // a job ended, paused or went on
  double at_rest_s = 60.0;
  double least_between_s = 5.0;  // windows of one job
};

// Jobs that compute on one GPU; paused ones do not.
struct ComputingGroup {
  unsigned gpu = 0;
  std::vector<JobId> jobs{};
};

class ProgressSchedule {
 public:
  explicit ProgressSchedule(const WindowTimes& times = {}) : times_(times) {}

  // To be called with each reading. Returns the jobs whose window opens now.
  [[nodiscard]] std::set<JobId> due(double now_s, std::span<const ComputingGroup> groups);

  // When a group of this job changed; empty: it does not compute.
  [[nodiscard]] std::optional<double> changed_s(JobId job) const;

 private:
  struct Gpu {
    std::set<JobId> jobs{};
    double changed_s = 0.0;
    double next_s = 0.0;    // window
    bool newcomer = false;  // since the last window
  };
  void follow(double now_s, const ComputingGroup& group);
  void forget(double now_s, std::span<const ComputingGroup> groups);
  [[nodiscard]] bool may_open(double now_s, const Gpu& gpu) const;

  WindowTimes times_;
  std::map<unsigned, Gpu> gpus_;
  std::set<JobId> known_;              // that computed at the last reading
  std::map<JobId, double> windows_s_;  // the last of each job
};

}  // namespace carpool::observe
