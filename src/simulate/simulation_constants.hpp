// Constants of the simulator; docs/simulator.md names the source of each.
#pragma once

#include <cstdint>

#include "simulate/trace/trace.hpp"

namespace carpool::simulate {

// Factor on the interference costs of the published pairs. The only fitted constant: with it the
// simulated makespan of AEGIS's run "magm, peakmem" equals the published one.
inline constexpr double kTraceContention = 1.9;

struct SimulationConstants {
  // From the launch to the first work on the GPU: log-normal, never longer than the longest seen; a
  // median of 0: no delay.
  double start_median_s = 8.2;
  double start_p95_s = 20.6;
  double start_longest_s = 55.0;
  // Then memory grows: half at once, to the early peak within growth_s; after late_growth_s to a
  // later peak, within growth_s again.
  double growth_s = 10.0;
  double late_growth_s = 200.0;
  std::uint64_t driver_bytes = 424 * kMebibyte;  // of each GPU, not usable
  // W = idle + slope · SM activity.
  double idle_watts = 123.75;
  double slope_watts = 152.46;
  // Counters of the published runs over the solo activity of the jobs.
  double counter_sm = 0.77;
  double counter_dram = 1.10;
  double window_s = 30.0;  // 0: the counters of now
  double sample_s = 1.0;
  // Standard deviations, relative, of one sample of the counters and of one measured rate.
  double activity_noise = 0.05;
  double rate_noise = 0.03;
};

// Of one attempt; equal seeds give equal delays.
[[nodiscard]] double start_delay_s(const SimulationConstants& constants,
                                   std::uint64_t seed,
                                   std::uint64_t job,
                                   std::uint64_t attempt);

[[nodiscard]] double watts(const SimulationConstants& constants, double sm_active);

}  // namespace carpool::simulate
