// Slots and jobs that are there, a bit each in two words of the shared state.
#pragma once

#include <bit>
#include <cstdint>

namespace carpool::interpose {

// In ascending order; `visit` gets the number of the bit.
template <class Visit>
void for_each_bit(std::uint64_t low, std::uint64_t high, const Visit& visit) {
  for (std::uint64_t bits = low; bits != 0; bits &= bits - 1) {
    visit(static_cast<std::uint32_t>(std::countr_zero(bits)));
  }
  for (std::uint64_t bits = high; bits != 0; bits &= bits - 1) {
    visit(static_cast<std::uint32_t>(64 + std::countr_zero(bits)));
  }
}

}  // namespace carpool::interpose
