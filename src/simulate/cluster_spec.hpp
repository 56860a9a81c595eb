// "4xA100-40": which GPUs are simulated.
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

// COUNTxNAME with a known GPU's name, or COUNTxSIZE as in 8x24GiB.
[[nodiscard]] Result<ClusterSpec> parse_cluster(std::string_view text);

// As the scheduler sees it at the beginning: empty, MPS possible.
[[nodiscard]] std::vector<GpuView> empty_gpus(const ClusterSpec& spec);

}  // namespace carpool::simulate
