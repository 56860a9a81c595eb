// The steps of a recorded program, from the order of its launches and copies.
#pragma once

#include <span>
#include <vector>

#include "gpu/cupti/activity_reader.hpp"
#include "profile/steps/period_finder.hpp"
#include "profile/steps/time_window.hpp"

namespace carpool::profile {

// Periods of the process that keeps the GPU busiest, the step first (find_periods). Where launches
// of one name have other grids in every step, their names alone are compared, and where streams run
// side by side, the busiest of them.
[[nodiscard]] std::vector<Period> find_launch_steps(std::span<const gpu::ActivityTrace> traces,
                                                    const TimeWindow& window);

}  // namespace carpool::profile
