// Replays a trace on simulated GPUs under the real scheduler. The jobs run by the truth; scheduler
// and policy decide by a belief.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "policy/policy_registry.hpp"
#include "schedule/scheduler.hpp"
#include "simulate/belief.hpp"
#include "simulate/cluster_spec.hpp"
#include "simulate/simulated_executor.hpp"
#include "simulate/simulation_constants.hpp"
#include "simulate/trace/trace.hpp"

namespace carpool::simulate {

// Source of a job's memory need before it runs.
enum class MemorySource {
  None,
  Told,  // the true peak
  Horus,
  FakeTensor,
  GpuMemNet,
};

[[nodiscard]] Result<MemorySource> memory_source(std::string_view name);
[[nodiscard]] std::string_view memory_source_name(MemorySource source);

struct SimulationSettings {
  std::string policy = "carpool";
  policy::PolicySettings policy_settings{};
  schedule::QueueOrder order = schedule::QueueOrder::Fair;
  schedule::RecoveryRule recovery = schedule::RecoveryRule::Reserve;
  MemorySource memory = MemorySource::None;
  BeliefKind belief = BeliefKind::Learned;
  double rates = 1.0;  // share of the jobs whose progress is measured
  // Stated run times differ from the true ones by at most this share, uniformly; empty: not stated.
  std::optional<double> runtime_error{};
  bool use_history = true;  // of earlier jobs of the same workload
  std::uint64_t seed = 0;
  SimulationConstants constants{};
  bool keep_moments = false;
};

// Of one job.
struct JobOutcome {
  std::string workload{};
  unsigned gpus = 1;
  double submitted_s = 0.0;
  double started_s = 0.0;  // of the last attempt
  double ended_s = 0.0;
  double executed_s = 0.0;     // sum of all attempts
  std::vector<RunEnd> ends{};  // of the attempts; empty: the cluster has too few GPUs for it
  bool succeeded = false;
};

struct SimulationResult {
  double makespan_s = 0.0;  // until the last attempt ended
  // Of the jobs that succeeded, empty if none did:
  std::optional<double> mean_wait_s{};  // from submission to the last start
  std::optional<double> mean_jct_s{};   // job completion time: from submission to the end
  std::optional<double> p95_jct_s{};
  std::optional<double> mean_execution_s{};
  std::optional<double> inflation{};  // execution time over solo run time, mean over jobs
  std::size_t failed_jobs = 0;
  std::size_t out_of_memory = 0;  // attempts for which the GPU had no memory left
  std::size_t over_cap = 0;       // attempts that reached their own cap
  std::size_t pauses = 0;
  double paused_s = 0.0;                   // sum over all attempts
  std::vector<double> recovery_waits_s{};  // from one of these ends to the next start
  double lost_s = 0.0;                     // time of the attempts that ended so
  double energy_mj = 0.0;
  double mean_sm_active = 0.0;
  std::vector<JobOutcome> jobs{};
  std::vector<SimulatedRun> runs{};
  std::vector<ClusterMoment> moments{};
};

// The belief starts anew in each run. Calls `progress` with the numbers of ended and of all jobs
// from time to time. A job that no GPU of the cluster can hold fails.
[[nodiscard]] Result<SimulationResult> simulate(
    const Trace& trace,
    const ClusterSpec& cluster,
    const InterferenceModel& truth,
    const SimulationSettings& settings,
    const std::function<void(std::size_t, std::size_t)>& progress = {});
// With another belief than that of the settings.
[[nodiscard]] Result<SimulationResult> simulate_with(
    const Belief& belief,
    const Trace& trace,
    const ClusterSpec& cluster,
    const InterferenceModel& truth,
    const SimulationSettings& settings,
    const std::function<void(std::size_t, std::size_t)>& progress = {});

// Whether a policy uses GPU counters.
[[nodiscard]] bool looks_at_pressure(std::string_view policy,
                                     const policy::PolicySettings& settings);

}  // namespace carpool::simulate
