// The sensors of this machine's NVIDIA GPUs, read through the driver's management library (NVML).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/telemetry_source.hpp"

namespace carpool::gpu {

// Loads the library by the loader's ordinary search and starts it on a thread of its own, where all
// of it is called. Unsupported, with what to do, where there is no driver.
[[nodiscard]] Result<std::unique_ptr<TelemetrySource>> open_nvml(
    const std::vector<std::string>& library_names = {"libnvidia-ml.so.1", "libnvidia-ml.so"});

}  // namespace carpool::gpu
