// What the simulator takes for true of jobs and GPUs; docs/simulator.md says where each constant
// comes from.
#pragma once

#include <cstdint>

#include "simulate/trace.hpp"

namespace carpool::simulate {

// Costs of sharing in the published traces, in costs of the published pairs. The one fitted
// constant: by it the simulated makespan of AEGIS's run "magm, peakmem" comes out right.
inline constexpr double kTraceContention = 1.9;

struct SimulationConstants {
  // From the order to the first work on the GPU: log-normal, never longer than the longest seen; a
  // median of 0: no delay.
  double start_median_s = 8.2;
  double start_p95_s = 20.6;
  double start_longest_s = 55.0;
  // Then memory grows: half of it at once, all of it after this, a later peak after that.
  double growth_s = 10.0;
  double late_growth_s = 200.0;
  std::uint64_t driver_bytes = 424 * kMebibyte;  // of each GPU, for nobody
  // W = idle + slope · SM activity.
  double idle_watts = 123.75;
  double slope_watts = 152.46;
  // What the counters of the published runs show of the activity that jobs have alone.
  double counter_sm = 0.77;
  double counter_dram = 1.10;
  double window_s = 30.0;  // 0: the counters of now
  double sample_s = 1.0;
};

// Of one attempt; the same seed gives the same delay.
[[nodiscard]] double start_delay_s(const SimulationConstants& constants,
                                   std::uint64_t seed,
                                   std::uint64_t job,
                                   std::uint64_t attempt);

[[nodiscard]] double watts(const SimulationConstants& constants, double sm_active);

}  // namespace carpool::simulate
