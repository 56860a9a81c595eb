// Search for the largest number that fits, where every smaller one fits too.
#pragma once

#include <cstdint>

namespace carpool::estimate {

inline constexpr std::int64_t kMostSamples = std::int64_t{1} << 24;  // of a batch

// From 1 to kMostSamples; 0: 1 does not fit. Calls `fits` a few dozen times.
template <class Fits>
[[nodiscard]] std::int64_t largest_fitting(const Fits& fits) {
  std::int64_t low = 0;  // fits
  std::int64_t high = 1;
  while (high < kMostSamples && fits(high)) {
    low = high;
    high *= 2;
  }
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace carpool::estimate
