// The GPUs of this machine that jobs can run on.
#pragma once

#include <memory>
#include <vector>

#include "base/result.hpp"
#include "core/cluster_snapshot.hpp"
#include "core/gpu.hpp"
#include "core/telemetry_source.hpp"

namespace carpool::observe {

struct UsableGpus {
  std::unique_ptr<TelemetrySource> source{};
  // For the scheduler: whole GPUs, then the MIG instances of partitioned ones.
  std::vector<GpuView> views{};
  // The whole GPUs, in the same order: only these can be read one by one.
  std::vector<GpuInfo> watched{};
};

// `mps`: jobs can share a GPU under MPS. NotFound where there is no GPU that jobs can use.
[[nodiscard]] Result<UsableGpus> find_usable_gpus(std::unique_ptr<TelemetrySource> source,
                                                  bool mps);

}  // namespace carpool::observe
