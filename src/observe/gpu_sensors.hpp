// Collects what each look at a GPU told beyond what the scheduler needs, for the metrics.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "core/gpu_reading.hpp"
#include "core/telemetry_source.hpp"
#include "observe/process_owners.hpp"

namespace carpool::observe {

// Used by one thread.
class GpuSensors {
 public:
  // The source outlives it.
  GpuSensors(TelemetrySource& source, std::vector<GpuInfo> gpus);

  // Before the GPUs are read.
  void begin();
  // Of the GPU at this place of the list. Energy, errors and activity of processes are read about
  // once a second only, as a call may cost milliseconds.
  void add(std::size_t place,
           const GpuSample& sample,
           const std::optional<GpuActivity>& activity,
           const ProcessOwners& owners);
  // It could not be read.
  void lose(std::size_t place);

  // Of the GPU at this place; null: it could not be read.
  [[nodiscard]] const GpuReading* at(std::size_t place) const {
    return readings_[place] ? &*readings_[place] : nullptr;
  }
  // Of the GPUs that could be read, in the order of the list.
  [[nodiscard]] std::vector<GpuReading> latest() const;

 private:
  void read_slow(GpuReading& reading, const ProcessOwners& owners);

  TelemetrySource& source_;
  std::vector<GpuInfo> gpus_;
  std::vector<std::optional<GpuReading>> readings_;
  std::optional<Stopwatch> since_slow_;
  bool slow_due_ = true;
};

}  // namespace carpool::observe
