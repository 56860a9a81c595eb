// A stretch of time, in nanoseconds of monotonic_ns(): what lies inside counts.
#pragma once

#include <cstdint>

namespace carpool {

struct TimeWindow {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;

  [[nodiscard]] double seconds() const { return static_cast<double>(end_ns - start_ns) * 1e-9; }
  [[nodiscard]] bool holds(std::int64_t at_ns) const { return at_ns >= start_ns && at_ns < end_ns; }
};

}  // namespace carpool
