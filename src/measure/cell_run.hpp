// One window: everybody warm before it opens, everybody still running when it closes.
#pragma once

#include <functional>

#include "base/result.hpp"
#include "core/telemetry_source.hpp"
#include "measure/cells.hpp"
#include "measure/result.hpp"
#include "measure/worker_pool.hpp"

namespace carpool::measure {

// Runs the cell's seats together and holds them again. A workload that fails is part of the
// measurement; an error is ours or the GPU's. Asked to stop (`stop` returns true), it ends early
// with the failure kStopped.
[[nodiscard]] Result<Measurement> run_cell(const Cell& cell,
                                           const Plan& plan,
                                           WorkerPool& pool,
                                           TelemetrySource& telemetry,
                                           const std::function<bool()>& stop);

}  // namespace carpool::measure
