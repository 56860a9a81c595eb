// What a simulation amounts to.
#pragma once

#include "simulate/simulation.hpp"

namespace carpool::simulate {

[[nodiscard]] SimulationResult summarise(const Trace& trace,
                                         const ClusterSpec& cluster,
                                         const SimulatedExecutor& executor);

// With linear interpolation between the two nearest; 0 for none.
[[nodiscard]] double quantile(std::vector<double> values, double share);

}  // namespace carpool::simulate
