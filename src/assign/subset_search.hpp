// The best grouping of a few members, by trying all subsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace carpool::assign {

// Bit i stands for member i.
using MemberSet = std::uint32_t;

// Time grows as groups * 3^members, memory as groups * 2^members: 14 members in 14 groups take 0.1
// s.
inline constexpr std::size_t kMaxSubsetMembers = 14;

// Puts as many members as possible into at most `max_groups` groups and among those groupings takes
// the one with the highest sum of values. values[set] is the worth of that group (values[0] is not
// read), minus infinity where it is not allowed; one entry for each of the 2^members sets. Members
// in no returned group could not be placed.
[[nodiscard]] std::vector<MemberSet> best_grouping(std::size_t members,
                                                   std::size_t max_groups,
                                                   std::span<const double> values);

}  // namespace carpool::assign
