// The file that `carpool record` writes and ReplayTelemetry reads: JSON lines. The first line is
// the header
//   {"format": "carpool-telemetry", "version": 1, "recorded": "…Z", "gpus": [GpuInfo …]}
// and each other line one reading of one GPU
//   {"gpu": 0, "sample": {…}, "activity": {…}, "processes": [{…} …]}
// where "activity" is absent if no span had ended. The times of a GPU increase.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/gpu.hpp"

namespace carpool::gpu {

struct TelemetryReading {
  unsigned gpu = 0;  // index in TelemetryRecording::gpus
  GpuSample sample{};
  std::optional<GpuActivity> activity{};
  std::vector<GpuProcess> processes{};
};

struct TelemetryRecording {
  std::string recorded{};  // UTC, start of the file
  std::vector<GpuInfo> gpus{};
  std::vector<TelemetryReading> readings{};  // in the order of the file
};

// One line each, with its line feed.
[[nodiscard]] std::string recording_header(const std::string& recorded,
                                           const std::vector<GpuInfo>& gpus);
[[nodiscard]] std::string recording_line(const TelemetryReading& reading);

// Strict; errors name `name` and the line. Unsupported for another version.
[[nodiscard]] Result<TelemetryRecording> parse_recording(std::string_view text,
                                                         std::string_view name);
[[nodiscard]] Result<TelemetryRecording> load_recording(const std::filesystem::path& path);

}  // namespace carpool::gpu
