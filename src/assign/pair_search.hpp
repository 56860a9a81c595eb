// The best assignment with at most two workloads per GPU, as a matching.
#pragma once

#include <cstddef>

#include "assign/group_values.hpp"

namespace carpool::assign {

// Every workload must fit on an empty GPU. As many as possible are placed; among such assignments
//   best_sum():        the sum of values is highest;
//   best_bottleneck(): the smallest progress is highest, and then the sum.
class PairSearch {
 public:
  PairSearch(GroupValues& values, std::size_t gpus);

  // Vertices of the matching problem, with which time and memory grow.
  [[nodiscard]] static std::size_t vertices(std::size_t workloads, std::size_t gpus);

  [[nodiscard]] Grouping best_sum() const;
  [[nodiscard]] Grouping best_bottleneck() const;

 private:
  // What a match of two vertices means. Vertices are the workloads, then empty places on GPUs, then
  // places outside for workloads that are left over.
  enum class Meaning { Pair, Single, Unused, LeftOver, Never };
  struct Solution {
    Grouping groups;
    std::size_t broken = 0;  // pairs that are not allowed, taken because no other matching exists
  };

  [[nodiscard]] Meaning meaning(std::size_t first, std::size_t second, std::size_t left_over) const;
  [[nodiscard]] bool allowed(std::size_t first, std::size_t second, float threshold) const;
  [[nodiscard]] Solution solve(std::size_t left_over, float threshold) const;
  [[nodiscard]] bool solvable(std::size_t left_over, float threshold) const;

  const GroupValues& values_;
  std::size_t workloads_;
  std::size_t gpus_;
};

}  // namespace carpool::assign
