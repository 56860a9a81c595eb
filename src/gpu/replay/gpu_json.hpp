// GPUs and their readings as JSON, for recordings and for commands that print them. An absent value
// is an absent key.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "core/gpu.hpp"

namespace carpool::gpu {

[[nodiscard]] nlohmann::json to_json(const MigSlice& slice);
[[nodiscard]] nlohmann::json to_json(const GpuInfo& info);
[[nodiscard]] nlohmann::json to_json(const GpuSample& sample);
[[nodiscard]] nlohmann::json to_json(const GpuActivity& activity);
[[nodiscard]] nlohmann::json to_json(const GpuProcess& process);

// Strict: a key that is missing, unknown, of the wrong type or out of range is an error that names
// it.
[[nodiscard]] Result<GpuInfo> gpu_info_from_json(const nlohmann::json& in);
[[nodiscard]] Result<GpuSample> gpu_sample_from_json(const nlohmann::json& in);
[[nodiscard]] Result<GpuActivity> gpu_activity_from_json(const nlohmann::json& in);
[[nodiscard]] Result<GpuProcess> gpu_process_from_json(const nlohmann::json& in);

}  // namespace carpool::gpu
