// What is assumed before anything was measured, and how much is remembered.
#pragma once

#include <cstddef>
#include <string>

namespace carpool::knowledge {

// Fitted to the pairs, triples and fours of data/h200 (docs/knowledge.md).
struct BeliefSettings {
  double prior_activity = 0.35;  // of a workload that was never seen: optimistic
  double contention = 1.25;      // K of the law (interference_law.hpp)
  double tilt = 2.5;             // how much more the less active of two members is slowed
  double floor = 0.01;           // least progress that is predicted
  std::string driver{};          // name and driver of the GPUs; another one widens the intervals
  bool gate = false;             // launches of best-effort jobs wait for requests
  std::size_t most_workloads = 20'000;
  std::size_t most_workloads_per_user = 2'000;
  std::size_t most_pairs_per_user = 10'000;
};

// Standard deviations before anything was measured. Those of costs are of their logarithm.
inline constexpr double kActivityDeviation = 0.25;
inline constexpr double kProfiledActivityDeviation = 0.05;  // the prior model knows the workload
inline constexpr double kContentionDeviation = 0.30;
inline constexpr double kTiltDeviation = 1.0;
inline constexpr double kWorkloadDeviation = 0.40;  // of sensitivity and of pressure
inline constexpr double kPairDeviation = 0.25;
inline constexpr double kSoloRateDeviation = 1.0;

[[nodiscard]] constexpr double squared(double value) {
  return value * value;
}

}  // namespace carpool::knowledge
