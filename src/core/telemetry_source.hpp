// The seam to a GPU's sensors: real (nvml/), recorded (replay/), made up (fake/). One contract
// suite runs over all of them.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "core/gpu.hpp"

namespace carpool {

// Two readings of the SMs' counters closer than this tell nothing.
inline constexpr std::chrono::milliseconds kShortestActivitySpan{100};

// Thread-safe: an implementation whose library is not keeps it on one thread of its own.
class TelemetrySource {
 public:
  TelemetrySource() = default;
  TelemetrySource(const TelemetrySource&) = delete;
  TelemetrySource& operator=(const TelemetrySource&) = delete;
  virtual ~TelemetrySource() = default;

  // May be empty: a driver without a GPU.
  [[nodiscard]] virtual Result<std::vector<GpuInfo>> list_gpus() = 0;

  [[nodiscard]] virtual Result<GpuSample> sample(unsigned gpu) = 0;

  // Apart from sample(): on some drivers reading this counter costs milliseconds of a core. Nothing
  // where it is not told.
  [[nodiscard]] virtual Result<std::optional<GpuEnergy>> energy(unsigned gpu) = 0;

  // Activity since the previous call that gave or began a span. Nothing on the first call for a
  // GPU, and within kShortestActivitySpan of the one before: the span then goes on.
  [[nodiscard]] virtual Result<std::optional<GpuActivity>> activity(unsigned gpu) = 0;

  // Forgets the span of activity() and begins a new one now.
  [[nodiscard]] virtual Result<void> begin_activity(unsigned gpu) = 0;

  [[nodiscard]] virtual Result<std::vector<GpuProcess>> processes(unsigned gpu) = 0;
};

}  // namespace carpool
