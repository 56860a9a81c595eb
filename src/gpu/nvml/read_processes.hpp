// Processes that hold memory on a GPU, from the driver's lists of compute and MPS clients.
#pragma once

#include <vector>

#include "core/gpu.hpp"
#include "gpu/nvml/reader.hpp"

namespace carpool::gpu::nvml {

// Sorted by PID, each once: the lists may overlap.
[[nodiscard]] Result<std::vector<GpuProcess>> read_processes(const DeviceRef& gpu);

}  // namespace carpool::gpu::nvml
