// Memory estimates from a separate file beside a trace. Internal to simulate/.
#pragma once

#include <filesystem>

#include "base/result.hpp"
#include "simulate/trace/trace.hpp"

namespace carpool::simulate {

// Fills in values that the trace does not have, by workload; does nothing where the folder has no
// such file.
[[nodiscard]] Result<void> add_trace_estimates(const std::filesystem::path& folder, Trace& trace);

}  // namespace carpool::simulate
