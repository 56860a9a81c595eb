// From the times at which steps ended to a member's speed within a window.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace carpool::profile {

struct StepTimes {
  double steps_per_second = 0.0;
  // Seconds between the ends of successive steps; a request's latency where one request follows
  // another.
  double p50 = 0.0;
  double p95 = 0.0;
  double p99 = 0.0;
  std::uint64_t steps = 0;  // that ended inside
};

// `ends`: increasing nanoseconds, from the last before the window or earlier, to the first after it
// or later. A step that crosses an edge counts with the share of its time that lies inside: without
// that, a window of a few long steps is off by up to one step. Nothing when an edge is not covered
// or the times do not increase.
[[nodiscard]] std::optional<StepTimes> steps_within(std::span<const std::int64_t> ends,
                                                    std::int64_t from,
                                                    std::int64_t to);

}  // namespace carpool::profile
