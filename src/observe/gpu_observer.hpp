// Reads the GPUs and assigns their memory to jobs and to foreign processes.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/result.hpp"
#include "core/gpu.hpp"
#include "core/gpu_observation.hpp"
#include "core/telemetry_source.hpp"
#include "observe/gpu_sensors.hpp"
#include "observe/process_owners.hpp"
#include "observe/window.hpp"

namespace carpool::observe {

struct ObserverSettings {
  std::size_t window_samples = 30;  // of a second each
  WindowSummary summary = WindowSummary::Mean;
};

// Used by one thread.
class GpuObserver {
 public:
  // The source outlives it. The scheduler's index of a GPU is its place in the list.
  GpuObserver(TelemetrySource& source, std::vector<GpuInfo> gpus, const ObserverSettings& settings);

  // One reading of every GPU; a GPU that cannot be read is unusable, with the reason.
  [[nodiscard]] std::vector<GpuObservation> read(const ProcessOwners& owners);

  // All that the last reading told of the GPUs that could be read.
  [[nodiscard]] std::vector<GpuReading> readings() const { return sensors_.latest(); }
  [[nodiscard]] const SeenProcesses& processes() const { return processes_; }

 private:
  [[nodiscard]] GpuObservation read_one(std::size_t place, const ProcessOwners& owners);
  [[nodiscard]] Result<void> add_processes(std::size_t place,
                                           const ProcessOwners& owners,
                                           GpuObservation& seen);
  // After the sensors and the processes were read.
  void add_sensors(std::size_t place, GpuObservation& seen) const;

  TelemetrySource& source_;
  std::vector<GpuInfo> gpus_;
  std::vector<SampleWindow> windows_;
  std::set<JobId> mps_jobs_;  // with clients of an MPS server on the GPU that is read
  GpuSensors sensors_;
  SeenProcesses processes_;  // of the last reading
};

}  // namespace carpool::observe
