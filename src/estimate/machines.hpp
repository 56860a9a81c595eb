// What a process needs on a GPU whatever it trains, as measured: the context of driver and
// libraries apart from the memory of the model.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "core/described_job.hpp"

namespace carpool::estimate {

[[nodiscard]] std::span<const MachineFacts> known_machines();

// By name, "h200"; unknown: an error that lists the known ones.
[[nodiscard]] Result<MachineFacts> find_machine(std::string_view name);

// For a GPU that nothing was measured on, by its compute capability ("9.0"): the workspace sizes
// are PyTorch's, the context is that of the nearest machine known, with a note in `source`.
[[nodiscard]] MachineFacts machine_for(std::string_view compute_capability);

}  // namespace carpool::estimate
