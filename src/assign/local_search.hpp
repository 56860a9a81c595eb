// A good assignment of any number of workloads, by greedy placement and improvement.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assign/group_values.hpp"

namespace carpool::assign {

struct LocalSearchOptions {
  std::size_t gpus = 1;
  std::size_t max_per_gpu = 2;
  bool bottleneck = false;  // raise the smallest progress instead of the sum of values
  std::uint64_t seed = 0;
};

// Every workload must fit on an empty GPU. Equal input and seed give the same answer.
[[nodiscard]] Grouping local_search(GroupValues& values, const LocalSearchOptions& options);

}  // namespace carpool::assign
