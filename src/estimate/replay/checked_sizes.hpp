// Arithmetic on sizes from users and files, which may be absurd: results stop at 2^48.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace carpool::estimate {

inline constexpr std::int64_t kMostSize = std::int64_t{1} << 48;

[[nodiscard]] inline std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMostSize : std::min(product, kMostSize);
}

[[nodiscard]] inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMostSize : std::min(sum, kMostSize);
}

// Product of all extents; 1 for none.
[[nodiscard]] inline std::int64_t product(std::span<const std::int64_t> extents) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) {
    elements = times(elements, extent);
  }
  return elements;
}

}  // namespace carpool::estimate
