// The best partition of a few items into bins, by trying all subsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace carpool::assign {

// A set of items: bit i is item i.
using ItemSet = std::uint32_t;

// Time grows as bins * 3^items, memory as bins * 2^items: 14 items in 14 bins take 0.1 s.
inline constexpr std::size_t kMaxSubsetItems = 14;

// Puts as many items as possible into at most `bins` groups and among those partitions takes the
// one whose values add up highest. values[set] is the worth of that group (values[0] is not read),
// minus infinity where it is not allowed; one entry for each of the 2^items sets. Items in no
// returned group could not be placed.
[[nodiscard]] std::vector<ItemSet> best_partition(std::size_t items,
                                                  std::size_t bins,
                                                  std::span<const double> values);

}  // namespace carpool::assign
