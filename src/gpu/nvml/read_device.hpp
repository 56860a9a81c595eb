// One GPU of NVML as our plain data.
#pragma once

#include "core/gpu.hpp"
#include "gpu/nvml/reader.hpp"

namespace carpool::gpu::nvml {

[[nodiscard]] Result<GpuInfo> read_info(const DeviceRef& gpu);

[[nodiscard]] Result<GpuSample> read_sample(const DeviceRef& gpu);

[[nodiscard]] Result<std::optional<GpuEnergy>> read_energy(const DeviceRef& gpu);

// Fills graphics_active and dram_active from the coarse utilisation where they are absent, and
// says so in stand_ins.
[[nodiscard]] Result<GpuActivity> with_stand_ins(const DeviceRef& gpu, GpuActivity activity);

}  // namespace carpool::gpu::nvml
