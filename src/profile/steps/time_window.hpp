// A half-open interval of monotonic_ns().
#pragma once

#include <cstdint>

namespace carpool::profile {

[[nodiscard]] inline double seconds_between(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

struct TimeWindow {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;

  [[nodiscard]] double seconds() const { return seconds_between(start_ns, end_ns); }
  [[nodiscard]] bool holds(std::int64_t at_ns) const { return at_ns >= start_ns && at_ns < end_ns; }
};

}  // namespace carpool::profile
