// The executor of `carpool serve --simulated`: jobs that do what their specs say on simulated GPUs.
#pragma once

#include <functional>
#include <memory>

#include "core/interference_model.hpp"
#include "simulate/cluster_spec.hpp"
#include "simulate/simulated_executor.hpp"

namespace carpool::simulate {

// Jobs start at once and hold all of their memory from the start. A job ends at its cap; the memory
// of the GPUs has no end. Thread limits count. Observations show the activity of now, exactly as
// pressure and with noise as the last sample, and measured rates. `truth` outlives the executor and
// is not what the server believes.
[[nodiscard]] std::unique_ptr<SimulatedExecutor> make_server_executor(
    const ClusterSpec& cluster, const InterferenceModel& truth, SimulatedExecutor::Clock clock);

}  // namespace carpool::simulate
