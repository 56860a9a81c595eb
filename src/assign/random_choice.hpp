// Choices at random that are the same with every standard library, unlike those of
// std::uniform_int_distribution and std::shuffle. Internal to place/.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include "assign/group_values.hpp"

namespace carpool::assign {

// One of 0 … `count` - 1.
[[nodiscard]] inline std::size_t random_below(std::mt19937_64& engine, std::size_t count) {
  return static_cast<std::size_t>(engine() % count);
}

// So many of 0 … `from` - 1, all different; all in order when there are no more.
[[nodiscard]] std::vector<std::size_t> random_sample(std::mt19937_64& engine,
                                                     std::size_t from,
                                                     std::size_t count);

// The items 0 … `count` - 1 in any order.
[[nodiscard]] std::vector<Item> shuffled_items(std::mt19937_64& engine, std::size_t count);

}  // namespace carpool::assign
