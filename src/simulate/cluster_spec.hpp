// The simulated GPUs, as in "4xA100-40".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/cluster_snapshot.hpp"

namespace carpool::simulate {

struct ClusterSpec {
  std::string name{};
  unsigned gpus = 0;
  std::uint64_t memory_bytes = 0;  // of each
};

// COUNTxNAME with the name of a known GPU, or COUNTxSIZE as in 8x24GiB.
[[nodiscard]] Result<ClusterSpec> parse_cluster(std::string_view text);

// For the scheduler: empty GPUs with MPS.
[[nodiscard]] std::vector<GpuView> empty_gpus(const ClusterSpec& spec);

}  // namespace carpool::simulate
