// A number of bytes of one client: 48 bits, and 16 bits of the generation of its slot. An operation
// for a client that has gone changes nothing, because the generation differs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "interpose/state/layout.hpp"

namespace carpool::interpose {

[[nodiscard]] constexpr std::uint64_t owned_amount(std::uint16_t generation, std::uint64_t bytes) {
  return std::uint64_t{generation} << 48U | bytes;
}
[[nodiscard]] constexpr std::uint64_t amount_of(std::uint64_t word) {
  return word & kMostBytes;
}
[[nodiscard]] constexpr std::uint16_t generation_of(std::uint64_t word) {
  return static_cast<std::uint16_t>(word >> 48U);
}

// False, and nothing added, if the generation differs or the amount would not fit.
inline bool add_amount(SharedWord& word, std::uint16_t generation, std::uint64_t bytes) {
  std::uint64_t seen = word.load();
  do {
    if (generation_of(seen) != generation || bytes > kMostBytes - amount_of(seen)) {
      return false;
    }
  } while (!word.compare_exchange_weak(seen, seen + bytes));
  return true;
}

// Returns what was taken: at most what is there, 0 if the generation differs.
inline std::uint64_t take_amount(SharedWord& word, std::uint16_t generation, std::uint64_t bytes) {
  std::uint64_t seen = word.load();
  std::uint64_t taken = 0;
  do {
    if (generation_of(seen) != generation) {
      return 0;
    }
    taken = std::min(bytes, amount_of(seen));
  } while (!word.compare_exchange_weak(seen, seen - taken));
  return taken;
}

}  // namespace carpool::interpose
