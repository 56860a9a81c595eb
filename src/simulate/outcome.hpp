// The figures of a simulation.
#pragma once

#include "simulate/simulation.hpp"

namespace carpool::simulate {

// The jobs of the trace for which the cluster has enough GPUs: those that are submitted.
[[nodiscard]] Trace with_enough_gpus(const Trace& trace, const ClusterSpec& cluster);

// Of an executor that ran the jobs of with_enough_gpus(). The others failed.
[[nodiscard]] SimulationResult summarise(const Trace& trace,
                                         const ClusterSpec& cluster,
                                         const SimulatedExecutor& executor);

}  // namespace carpool::simulate
