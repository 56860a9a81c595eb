// Marks pauses: a program that repeats one kernel shows its steps only by pauses between launches.
// Internal to profile/.
#pragma once

#include <span>
#include <vector>

#include "profile/steps/period_finder.hpp"

namespace carpool::profile {

// The same events, with another id for those that follow a pause.
[[nodiscard]] std::vector<StepEvent> with_pauses(std::span<const StepEvent> events);

}  // namespace carpool::profile
