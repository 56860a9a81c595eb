// Random choices that are the same with every standard library, unlike those of
// std::uniform_int_distribution and std::shuffle. NumpyRandom (base/) reproduces another generator,
// that of the published splits. Internal to assign/.
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

// `count` different values of 0 … `from` - 1; all of them in order when `count` is not less than
// `from`.
[[nodiscard]] std::vector<std::size_t> random_sample(std::mt19937_64& engine,
                                                     std::size_t from,
                                                     std::size_t count);

// The members 0 … `count` - 1 in random order.
[[nodiscard]] std::vector<Member> shuffled_members(std::mt19937_64& engine, std::size_t count);

}  // namespace carpool::assign
