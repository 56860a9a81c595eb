// A number of bytes that another process sets while clients read it: 48 bits, and 16 bits that
// follow from them. A word that was read half written, or was damaged, is recognised.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/state/layout.hpp"

namespace carpool::interpose {

[[nodiscard]] constexpr std::uint64_t checked_word(std::uint64_t bytes) {
  const std::uint64_t value = bytes < kMostBytes ? bytes : kMostBytes;
  const std::uint64_t check = ((value + 1) * 0x9e3779b97f4a7c15) >> 48U;
  return check << 48U | value;
}

[[nodiscard]] constexpr bool is_checked(std::uint64_t word) {
  return checked_word(word & kMostBytes) == word;
}

[[nodiscard]] constexpr std::uint64_t bytes_of(std::uint64_t word, std::uint64_t otherwise) {
  return is_checked(word) ? word & kMostBytes : otherwise;
}

// The same for one owner of a slot: for another generation the word is not valid.
[[nodiscard]] constexpr std::uint64_t context_word(std::uint16_t generation, std::uint64_t bytes) {
  return checked_word(bytes) ^ std::uint64_t{generation} << 48U;
}

// `otherwise` if the word stays invalid.
[[nodiscard]] inline std::uint64_t read_checked(const SharedWord& word, std::uint64_t otherwise) {
  constexpr int kAttempts = 16;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint64_t seen = word.load(std::memory_order_relaxed);
    if (is_checked(seen)) {
      return seen & kMostBytes;
    }
  }
  return otherwise;
}

// 0 if the word stays invalid, or is of another owner of the slot.
[[nodiscard]] inline std::uint64_t read_context(const SharedWord& word, std::uint16_t generation) {
  constexpr int kAttempts = 16;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint64_t seen = word.load(std::memory_order_relaxed) ^ std::uint64_t{generation}
                                                                          << 48U;
    if (is_checked(seen)) {
      return seen & kMostBytes;
    }
  }
  return 0;
}

}  // namespace carpool::interpose
