// Estimates of memory that stand in a file of their own beside a trace. Internal to simulate/.
#pragma once

#include <filesystem>

#include "base/result.hpp"
#include "simulate/trace.hpp"

namespace carpool::simulate {

// Fills in what the jobs do not say themselves, by the names of their workloads; nothing where the
// folder has no such file.
[[nodiscard]] Result<void> add_trace_estimates(const std::filesystem::path& folder, Trace& trace);

}  // namespace carpool::simulate
