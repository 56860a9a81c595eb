// Interface to the sensors of GPUs: real (nvml/), recorded (replay/), simulated (fake/). One
// contract suite runs over all of them.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "core/gpu.hpp"
#include "core/gpu_reading.hpp"

namespace carpool {

// Readings of SM counters that are closer than this are not reliable.
inline constexpr std::chrono::milliseconds kShortestActivitySpan{100};

// Thread-safe. An implementation whose library is not calls it from one thread of its own.
class TelemetrySource {
 public:
  TelemetrySource() = default;
  TelemetrySource(const TelemetrySource&) = delete;
  TelemetrySource& operator=(const TelemetrySource&) = delete;
  virtual ~TelemetrySource() = default;

  // May be empty: a driver without a GPU.
  [[nodiscard]] virtual Result<std::vector<GpuInfo>> list_gpus() = 0;

  [[nodiscard]] virtual Result<GpuSample> sample(unsigned gpu) = 0;

  // Separate from sample(), since on some drivers a reading costs milliseconds. Empty where it is
  // not reported.
  [[nodiscard]] virtual Result<std::optional<GpuEnergy>> energy(unsigned gpu) = 0;

  // Activity since the previous call that returned or began a span. Empty on the first call for a
  // GPU, and within kShortestActivitySpan of the previous call; the span then continues.
  [[nodiscard]] virtual Result<std::optional<GpuActivity>> activity(unsigned gpu) = 0;

  // Discards the current span of activity() and begins a new one.
  [[nodiscard]] virtual Result<void> begin_activity(unsigned gpu) = 0;

  [[nodiscard]] virtual Result<std::vector<GpuProcess>> processes(unsigned gpu) = 0;

  // Errors and what limits the clocks. A source that has none of it reports nothing.
  [[nodiscard]] virtual Result<GpuHealth> health(unsigned /*gpu*/) { return GpuHealth{}; }

  // Of processes that computed since the previous call; nothing where it is not reported.
  [[nodiscard]] virtual Result<std::optional<std::vector<ProcessActivity>>> process_activity(
      unsigned /*gpu*/) {
    return std::nullopt;
  }
};

}  // namespace carpool
