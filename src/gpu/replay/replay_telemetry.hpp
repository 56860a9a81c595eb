// A recording as a telemetry source.
//
// Each call of sample(), activity() or processes() gives the GPU's next recorded one, however much
// time has passed, and after the last the first again; the three go on apart from each other. Times
// go on rising over that seam. activity() keeps the promise of the seam: nothing on its
// first call, then one recorded span a call.
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
  // Unsupported when the recording has no reading of that GPU.
  [[nodiscard]] Result<GpuSample> sample(unsigned gpu) override;
  // A recording does not hold it.
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
