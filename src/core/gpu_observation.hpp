// What server and simulator observe of a GPU between decisions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster_snapshot.hpp"
#include "core/job.hpp"

namespace carpool {

struct GpuObservation {
  unsigned gpu = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t foreign_bytes = 0;
  bool foreign = false;
  std::string unusable{};
  std::optional<GpuPressure> pressure{};
  struct JobMemory {
    JobId job = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<JobMemory> jobs{};  // Carpool's jobs seen on this GPU
};

}  // namespace carpool
