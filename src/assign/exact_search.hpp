// The best assignment of a few workloads, with any number per GPU, by trying every grouping.
#pragma once

#include <cstddef>
#include <vector>

#include "assign/group_values.hpp"

namespace carpool::assign {

// At most kMaxSubsetMembers workloads. As many as possible are placed; among such assignments
//   best_sum():        the sum of values is highest;
//   best_bottleneck(): the smallest progress is highest, and then the sum.
class ExactSearch {
 public:
  ExactSearch(GroupValues& values, std::size_t gpus, std::size_t max_per_gpu);

  [[nodiscard]] Grouping best_sum() const;
  [[nodiscard]] Grouping best_bottleneck() const;

 private:
  struct AllowedGroup {
    MemberSet set = 0;
    GroupValue value;
  };

  [[nodiscard]] std::vector<MemberSet> solve(float threshold) const;
  [[nodiscard]] Grouping to_grouping(const std::vector<MemberSet>& groups) const;

  std::size_t workloads_;
  std::size_t gpus_;
  std::vector<AllowedGroup> allowed_;
};

}  // namespace carpool::assign
