// Reads one GPU of NVML into the plain data of core/gpu.hpp.
#pragma once

#include "core/gpu.hpp"
#include "gpu/nvml/reader.hpp"

namespace carpool::gpu::nvml {

[[nodiscard]] Result<GpuInfo> read_info(const DeviceRef& gpu);

[[nodiscard]] Result<GpuSample> read_sample(const DeviceRef& gpu);

// Names of the bits of the clock event reasons (kThrottleReasons of core/gpu_reading.hpp).
[[nodiscard]] std::vector<std::string> reason_names(unsigned long long bits);

[[nodiscard]] Result<std::optional<GpuEnergy>> read_energy(const DeviceRef& gpu);

// Where graphics_active or dram_active is absent, takes it from the coarse utilisation and lists it
// in substitute_metrics.
[[nodiscard]] Result<GpuActivity> with_substitute_metrics(const DeviceRef& gpu,
                                                          GpuActivity activity);

}  // namespace carpool::gpu::nvml
