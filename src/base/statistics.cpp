#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace carpool {

double quantile_of_sorted(std::span<const double> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return quantile_of_sorted(values, share);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  const double upper = *middle;
  if (values.size() % 2 == 1) {
    return upper;
  }
  return 0.5 * (*std::max_element(values.begin(), middle) + upper);
}

std::size_t conformal_index(std::size_t count, double confidence) {
  const double rank = std::ceil(confidence * (static_cast<double>(count) + 1.0));
  return static_cast<std::size_t>(std::clamp(rank, 1.0, static_cast<double>(count))) - 1;
}

}  // namespace carpool
