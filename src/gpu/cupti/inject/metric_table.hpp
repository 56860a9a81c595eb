// Which hardware counters are sampled, and how they are put into sets that need one pass.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace carpool::gpu::inject {

// One quantity, by the names that chips have for it; the first that can be had in one pass is used.
struct WantedMetric {
  std::array<const char*, 3> names{};  // null: no further name
};

// In the order in which sets are filled.
[[nodiscard]] const std::vector<WantedMetric>& wanted_metrics();

// How many passes a set of metrics needs; 0: not to be had.
using PassesOf = std::function<std::size_t(const std::vector<const char*>&)>;

// Sets of one pass each; a metric that no set can hold is left out.
[[nodiscard]] std::vector<std::vector<const char*>> pack_sets(const PassesOf& passes);

}  // namespace carpool::gpu::inject
