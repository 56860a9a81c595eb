// Memory of processes on a GPU, as the driver tells it, for the state that programs share.
#pragma once

#include <string>
#include <vector>

#include "core/gpu.hpp"
#include "interpose/state/memory_accounts.hpp"

namespace carpool::app {

[[nodiscard]] interpose::ProcessMemory memory_of(const GpuProcess& process);
[[nodiscard]] std::vector<interpose::ProcessMemory> memory_of(
    const std::vector<GpuProcess>& processes);

// False: its context is being made, which takes the driver seconds when many programs start at
// once, or ends.
[[nodiscard]] bool holds_memory(const interpose::ProcessMemory& process);

// "process 4711 (python train.py, 1.5 GiB)"
[[nodiscard]] std::string process_text(const interpose::ProcessMemory& process);

}  // namespace carpool::app
