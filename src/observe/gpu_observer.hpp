// Reads the GPUs, and says what of it belongs to our jobs and what to others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/gpu.hpp"
#include "core/gpu_observation.hpp"
#include "core/telemetry_source.hpp"
#include "observe/window.hpp"

namespace carpool::observe {

// Whose a process is.
struct ProcessOwner {
  enum class Kind {
    Job,
    MpsServer,  // an MPS server: neither a job's nor a stranger's
    Foreign,
    Unknown,  // not among the processes that we can see: a namespace hides it
  } kind = Kind::Foreign;
  JobId job = 0;
};

struct ProcessOwners {
  std::function<ProcessOwner(std::int64_t pid)> owner{};
  // Jobs that run on each GPU, by the scheduler's number: what hidden processes there may be.
  std::map<unsigned, std::vector<JobId>> residents{};
};

struct ObserverSettings {
  std::size_t window_samples = 30;  // one a reading
  WindowSummary summary = WindowSummary::Mean;
};

// Used by one thread.
class GpuObserver {
 public:
  // The source outlives it. The scheduler's number of a GPU is its place in the list.
  GpuObserver(TelemetrySource& source, std::vector<GpuInfo> gpus, const ObserverSettings& settings);

  // One reading of every GPU; one that cannot be read is unusable, with the reason.
  [[nodiscard]] std::vector<GpuObservation> read(const ProcessOwners& who);

 private:
  [[nodiscard]] GpuObservation read_one(std::size_t place, const ProcessOwners& who);
  [[nodiscard]] Result<void> add_processes(std::size_t place,
                                           const ProcessOwners& who,
                                           GpuObservation& seen);

  TelemetrySource& source_;
  std::vector<GpuInfo> gpus_;
  std::vector<SampleWindow> windows_;
};

}  // namespace carpool::observe
