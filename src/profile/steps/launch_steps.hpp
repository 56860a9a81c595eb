// Finds the steps of a program in the order of its launches and copies.
#pragma once

#include <span>
#include <vector>

#include "gpu/cupti/activity_reader.hpp"
#include "profile/steps/period_finder.hpp"
#include "profile/steps/time_window.hpp"

namespace carpool::profile {

// Periods of the process that keeps the GPU busiest, the step first (find_periods). Tries kernels
// with their grids, then by name only (grids may change from step to step), then the busiest stream
// only (streams interleave).
[[nodiscard]] std::vector<Period> find_launch_steps(std::span<const gpu::ActivityTrace> traces,
                                                    const TimeWindow& window);

}  // namespace carpool::profile
