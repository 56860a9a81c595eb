// The sensors of NVIDIA GPUs, read through the driver's management library (NVML).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/telemetry_source.hpp"

namespace carpool::gpu {

// Loads and starts the library on a dedicated thread, which makes all calls. Unsupported, with what
// to do, if there is no driver.
[[nodiscard]] Result<std::unique_ptr<TelemetrySource>> open_nvml(
    const std::vector<std::string>& library_names = {"libnvidia-ml.so.1", "libnvidia-ml.so"});

}  // namespace carpool::gpu
