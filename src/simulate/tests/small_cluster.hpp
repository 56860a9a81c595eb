// Small traces and speeds for the tests of the simulator.
#pragma once

#include <string>
#include <vector>

#include "knowledge/activity_interference.hpp"
#include "simulate/simulation.hpp"

namespace carpool::simulate {

inline constexpr std::uint64_t kTestGib = 1024 * kMebibyte;

inline TraceJob test_job(double submit_s,
                         double solo_s,
                         std::uint64_t gib = 1,
                         const std::string& workload = "middle",
                         unsigned gpus = 1) {
  TraceJob job{.workload = workload, .submit_s = submit_s, .gpus = gpus, .solo_s = solo_s};
  job.peak_bytes = gib * kTestGib;
  job.early_bytes = job.peak_bytes;
  job.sm_active = workload == "light" ? 0.1 : 0.5;
  return job;
}

inline const knowledge::ActivityInterference& test_speeds() {
  static const knowledge::ActivityInterference speeds{
      {{"light", 0.1}, {"middle", 0.5}, {"heavy", 1.0}}};
  return speeds;
}

// No start-up, no driver memory: times are round numbers.
inline SimulationConstants plain_constants() {
  SimulationConstants constants;
  constants.start_median_s = 1e-9;
  constants.start_p95_s = 1e-9;
  constants.driver_bytes = 0;
  return constants;
}

inline SimulationSettings test_settings(const std::string& policy) {
  SimulationSettings settings{.policy = policy,
                              .policy_settings = policy::default_settings(policy)};
  settings.constants = plain_constants();
  settings.order = schedule::QueueOrder::Fifo;
  settings.memory = MemorySource::Told;
  return settings;
}

inline ClusterSpec test_cluster(unsigned gpus, std::uint64_t gib = 40) {
  return {.name = "test", .gpus = gpus, .memory_bytes = gib * kTestGib};
}

}  // namespace carpool::simulate
