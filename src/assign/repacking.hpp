// Improves a seating a few GPUs at a time: they are emptied and filled again in the best way there
// is. Internal to place/.
#pragma once

#include <cstddef>
#include <random>
#include <span>

#include "assign/arrangement.hpp"
#include "assign/subset_search.hpp"

namespace carpool::assign {

// Which GPUs is a matter of chance.
class Repacking {
 public:
  struct Limits {
    std::size_t max_per_gpu = 2;
    std::size_t forecasts = 0;  // comes to its end where so many have been asked of the values
  };

  Repacking(GroupValues& values, Seating& seats, std::mt19937_64& engine, const Limits& limits)
      : values_(values), seats_(seats), engine_(engine), limits_(limits) {}

  // Until many attempts in a row were in vain. Does nothing where so many items share a GPU that
  // two GPUs hold too many to try every way.
  void run();

 private:
  [[nodiscard]] bool repack(std::size_t count);
  void refill(std::span<const std::size_t> chosen,
              std::span<const Item> items,
              std::span<const ItemSet> groups);

  GroupValues& values_;
  Seating& seats_;
  std::mt19937_64& engine_;
  Limits limits_;
};

}  // namespace carpool::assign
