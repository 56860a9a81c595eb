// The best assignment of a few workloads, any number a GPU, by trying every partition.
#pragma once

#include <cstddef>
#include <vector>

#include "assign/group_values.hpp"

namespace carpool::assign {

// At most kMaxSubsetItems workloads. As many as possible are placed; among such assignments
//   best_sum():        the sum of values is highest;
//   best_bottleneck(): the smallest progress is highest, and then the sum.
class ExactSearch {
 public:
  ExactSearch(GroupValues& values, std::size_t gpus, std::size_t max_per_gpu);

  [[nodiscard]] Grouping best_sum() const;
  [[nodiscard]] Grouping best_bottleneck() const;

 private:
  struct Candidate {
    ItemSet set = 0;
    GroupValue value;
  };

  [[nodiscard]] std::vector<ItemSet> solve(float threshold) const;
  [[nodiscard]] Grouping told(const std::vector<ItemSet>& groups) const;

  std::size_t items_;
  std::size_t gpus_;
  std::vector<Candidate> candidates_;  // the groups that are allowed
};

}  // namespace carpool::assign
