// Reading the words of the shared state, which another process may have damaged.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "interpose/gate/work.hpp"
#include "interpose/state/layout.hpp"

namespace carpool::interpose::gate {

[[nodiscard]] inline Nanoseconds value_of(const SharedWord& word) {
  // A damaged word must not overflow a sum.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;
  return static_cast<Nanoseconds>(std::min(word.load(std::memory_order_relaxed), kMost));
}

template <typename Visit>
void for_each_bit(const SharedWord& low, const SharedWord& high, const Visit& visit) {
  std::uint32_t first = 0;
  for (const SharedWord* const word : {&low, &high}) {
    for (std::uint64_t bits = word->load(std::memory_order_relaxed); bits != 0; bits &= bits - 1) {
      visit(first + static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
    first += 64;
  }
}

}  // namespace carpool::interpose::gate
