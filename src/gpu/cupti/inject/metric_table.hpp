// The hardware counters to sample, packed into sets that need one pass.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace carpool::gpu::inject {

// A quantity with its names on different chips; the first one that needs one pass is used.
struct WantedMetric {
  std::array<const char*, 3> names{};  // null: no further name
};

// In the order in which sets are filled.
[[nodiscard]] const std::vector<WantedMetric>& wanted_metrics();

// The number of passes that a set of metrics needs; 0: not available.
using PassesOf = std::function<std::size_t(const std::vector<const char*>&)>;

// Sets of one pass each; metrics that need more are left out.
[[nodiscard]] std::vector<std::vector<const char*>> pack_sets(const PassesOf& passes);

}  // namespace carpool::gpu::inject
