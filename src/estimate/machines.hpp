// What every process needs on a GPU, whatever its model: the measured context of driver and
// libraries, and the workspaces of cuBLAS.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "core/described_job.hpp"

namespace carpool::estimate {

[[nodiscard]] std::span<const MachineFacts> known_machines();

// The error for an unknown name lists the known ones ("h200", …).
[[nodiscard]] Result<MachineFacts> find_machine(std::string_view name);

// For a GPU without measurements, by its compute capability ("9.0"): PyTorch's workspace sizes and
// the context of an H200, which `source` states.
[[nodiscard]] MachineFacts machine_for(std::string_view compute_capability);

}  // namespace carpool::estimate
