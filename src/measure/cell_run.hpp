// Measures one window: all members are warm before it opens and still running when it closes.
#pragma once

#include <functional>

#include "base/result.hpp"
#include "core/telemetry_source.hpp"
#include "measure/cells.hpp"
#include "measure/result.hpp"
#include "measure/worker_pool.hpp"

namespace carpool::measure {

// Runs the cell's members together, then holds them again. A failing workload is part of the
// measurement; an error means that Carpool or the GPU failed. When `stop` returns true, the window
// ends early with the failure kStopped.
[[nodiscard]] Result<Measurement> run_cell(const Cell& cell,
                                           const Plan& plan,
                                           WorkerPool& pool,
                                           TelemetrySource& telemetry,
                                           const std::function<bool()>& stop);

}  // namespace carpool::measure
