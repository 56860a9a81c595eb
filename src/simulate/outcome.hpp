// The figures of a simulation.
#pragma once

#include "simulate/simulation.hpp"

namespace carpool::simulate {

[[nodiscard]] SimulationResult summarise(const Trace& trace,
                                         const ClusterSpec& cluster,
                                         const SimulatedExecutor& executor);

}  // namespace carpool::simulate
