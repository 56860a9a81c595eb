// What a learner hears of jobs that run: the input of src/knowledge/. Called by the thread of the
// scheduler, in server and simulator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu_observation.hpp"
#include "core/group.hpp"
#include "core/job.hpp"
#include "core/run.hpp"

namespace carpool {

// One GPU at one moment.
struct GroupSeen {
  double at_s = 0.0;
  unsigned gpu = 0;
  struct Member {
    JobId job = 0;
    std::string workload{};  // scoped_workload(): belongs to one user
    double thread_limit = kAllThreads;
    bool several_gpus = false;
    double computed_s = 0.0;  // since it was first seen on the GPU, without pauses
    std::optional<MeasuredRate> rate{};
    std::optional<KernelWindow> window{};
    Gating gating = Gating::None;  // whether its launches wait for requests
    ShareMechanism mechanism = ShareMechanism::None;
    LatencyGoal goal{};  // of a job with an SLO
    std::optional<MeasuredLatency> latency{};
  };
  std::vector<Member> computing{};    // neither starting nor paused
  double unchanged_s = 0.0;           // time for which exactly these computed
  std::optional<double> sm_active{};  // of the GPU, last sample, 0 to 1
  bool foreign = false;               // other processes compute there too
};

// One attempt that ended.
struct RunSeen {
  double at_s = 0.0;
  std::string workload{};
  RunEnd end = RunEnd::Succeeded;
  double ran_s = 0.0;                  // without pauses
  std::optional<double> starting_s{};  // until it was seen on a GPU; empty: never seen
  double progress = 1.0;               // believed mean share of its solo speed
  std::optional<std::uint64_t> peak_bytes{};
  unsigned processes = 1;  // most at once on one GPU
};

class Learner {
 public:
  Learner() = default;
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;
  virtual ~Learner() = default;

  virtual void saw(const GroupSeen& seen) = 0;
  virtual void ended(const RunSeen& run) = 0;
};

}  // namespace carpool
