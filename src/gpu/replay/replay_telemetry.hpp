// A recording as a telemetry source.
//
// Each call of sample(), activity() or processes() returns the GPU's next recorded value,
// regardless of the time passed, and starts again after the last; the three advance independently.
// Times keep increasing. activity() returns nothing on its first call, as TelemetrySource requires,
// then one recorded span per call.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "core/telemetry_source.hpp"
#include "gpu/replay/recording.hpp"

namespace carpool::gpu {

class ReplayTelemetry final : public TelemetrySource {
 public:
  explicit ReplayTelemetry(TelemetryRecording recording);

  [[nodiscard]] Result<std::vector<GpuInfo>> list_gpus() override;
  // Unsupported if the recording has no reading of the GPU.
  [[nodiscard]] Result<GpuSample> sample(unsigned gpu) override;
  // Recordings do not hold energy.
  [[nodiscard]] Result<std::optional<GpuEnergy>> energy(unsigned gpu) override;
  [[nodiscard]] Result<std::optional<GpuActivity>> activity(unsigned gpu) override;
  [[nodiscard]] Result<void> begin_activity(unsigned gpu) override;
  [[nodiscard]] Result<std::vector<GpuProcess>> processes(unsigned gpu) override;

 private:
  struct Track {
    std::vector<GpuSample> samples;
    std::vector<GpuActivity> activities;
    std::vector<std::vector<GpuProcess>> processes;
    std::size_t next_sample = 0;
    std::size_t next_activity = 0;
    std::size_t next_processes = 0;
    bool activity_begun = false;
  };

  // The caller holds the mutex.
  [[nodiscard]] Result<Track*> find(unsigned gpu);

  std::mutex mutex_;
  std::vector<GpuInfo> gpus_;
  std::vector<Track> tracks_;
};

}  // namespace carpool::gpu
