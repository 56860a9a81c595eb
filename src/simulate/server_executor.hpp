// The executor of `carpool serve --simulated`: jobs that do what their specs say on simulated GPUs.
#pragma once

#include <functional>
#include <memory>

#include "core/interference_model.hpp"
#include "simulate/cluster_spec.hpp"
#include "simulate/simulated_executor.hpp"

namespace carpool::simulate {

// Jobs start at once, hold all of their memory from the start, and never run out of it; thread
// limits count. Observations show the activity of now. `interference` outlives the executor.
[[nodiscard]] std::unique_ptr<SimulatedExecutor> make_server_executor(
    const ClusterSpec& cluster,
    const InterferenceModel& interference,
    SimulatedExecutor::Clock clock);

}  // namespace carpool::simulate
