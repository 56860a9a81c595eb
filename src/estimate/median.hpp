// The value in the middle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace carpool::estimate {

// Of one value at least; between the two in the middle where their number is even.
[[nodiscard]] inline double median_of(std::vector<double> values) {
  const std::size_t half = values.size() / 2;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(half));
  const double upper = values[half];
  if (values.size() % 2 == 1) {
    return upper;
  }
  const double lower =
      *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half));
  return (lower + upper) / 2.0;
}

}  // namespace carpool::estimate
