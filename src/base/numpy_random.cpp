#include "base/numpy_random.hpp"

#include <cmath>
#include <numeric>
#include <utility>

namespace carpool {

std::uint32_t NumpyRandom::interval(std::uint32_t max) {
  if (max == 0) {
    return 0;
  }
  std::uint32_t mask = max;
  for (unsigned shift = 1; shift < 32; shift *= 2) {
    mask |= mask >> shift;
  }
  while (true) {
    const auto value = static_cast<std::uint32_t>(engine_()) & mask;
    if (value <= max) {
      return value;
    }
  }
}

double NumpyRandom::uniform() {
  const auto high = static_cast<double>(static_cast<std::uint32_t>(engine_()) >> 5U);
  const auto low = static_cast<double>(static_cast<std::uint32_t>(engine_()) >> 6U);
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

double NumpyRandom::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  double x = 0.0;
  double y = 0.0;
  double radius = 0.0;
  do {
    x = 2.0 * uniform() - 1.0;
    y = 2.0 * uniform() - 1.0;
    radius = x * x + y * y;
  } while (radius >= 1.0 || radius == 0.0);
  const double scale = std::sqrt(-2.0 * std::log(radius) / radius);
  spare_normal_ = scale * x;
  has_spare_normal_ = true;
  return scale * y;
}

std::vector<std::size_t> NumpyRandom::permutation(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t last = count; last-- > 1;) {
    std::swap(order[last], order[interval(static_cast<std::uint32_t>(last))]);
  }
  return order;
}

HoldOut train_test_split(std::size_t count, double test_fraction, std::uint32_t seed) {
  NumpyRandom random(seed);
  const std::vector<std::size_t> order = random.permutation(count);
  const auto test_count =
      static_cast<std::ptrdiff_t>(std::ceil(test_fraction * static_cast<double>(count)));
  return {.train = {order.begin() + test_count, order.end()},
          .test = {order.begin(), order.begin() + test_count}};
}

}  // namespace carpool
