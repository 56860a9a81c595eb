// Improves an arrangement a few GPUs at a time: they are emptied and filled again in the best
// possible way. Internal to assign/.
#pragma once

#include <cstddef>
#include <random>
#include <span>

#include "assign/arrangement.hpp"
#include "assign/subset_search.hpp"

namespace carpool::assign {

// The GPUs are chosen at random.
class Repacking {
 public:
  struct Limits {
    std::size_t max_per_gpu = 2;
    std::size_t forecasts = 0;  // of the values, after which the repacking ends
  };

  Repacking(GroupValues& values,
            Arrangement& arrangement,
            std::mt19937_64& engine,
            const Limits& limits)
      : values_(values), arrangement_(arrangement), engine_(engine), limits_(limits) {}

  // Runs until many attempts in a row have failed. Does nothing where two GPUs hold too many
  // members to try every grouping.
  void run();

 private:
  [[nodiscard]] bool repack(std::size_t count);
  void refill(std::span<const std::size_t> chosen,
              std::span<const Member> members,
              std::span<const MemberSet> groups);

  GroupValues& values_;
  Arrangement& arrangement_;
  std::mt19937_64& engine_;
  Limits limits_;
};

}  // namespace carpool::assign
