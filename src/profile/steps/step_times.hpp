// Speed and latency within a window, from the end times of steps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace carpool::profile {

struct StepTimes {
  double steps_per_second = 0.0;
  // Seconds between the ends of successive steps; the latency of requests that follow each other.
  double p50 = 0.0;
  double p95 = 0.0;
  double p99 = 0.0;
  std::uint64_t steps = 0;  // that ended in the window
};

// `ends`: increasing nanoseconds that cover the window from before its start to after its end. A
// step that crosses an edge counts by the share of its time inside; otherwise a window of a few
// long steps would be off by up to one step. Nothing if an edge is not covered or the times do not
// increase.
[[nodiscard]] std::optional<StepTimes> steps_within(std::span<const std::int64_t> ends,
                                                    std::int64_t from,
                                                    std::int64_t to);

}  // namespace carpool::profile
