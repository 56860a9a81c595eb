// Who holds memory on a GPU, by the driver's lists of ordinary and of MPS clients.
#pragma once

#include <vector>

#include "core/gpu.hpp"
#include "gpu/nvml/reader.hpp"

namespace carpool::gpu::nvml {

// By rising process number, each once: the lists may overlap.
[[nodiscard]] Result<std::vector<GpuProcess>> read_processes(const DeviceRef& gpu);

}  // namespace carpool::gpu::nvml
