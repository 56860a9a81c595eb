// Steps of a program that launches one kernel again and again show by the pauses between them
// alone. Internal to profile/.
#pragma once

#include <span>
#include <vector>

#include "profile/steps/period_finder.hpp"

namespace carpool::profile {

// The same events; every one that comes after a pause has an id of its own kind.
[[nodiscard]] std::vector<StepEvent> with_pauses(std::span<const StepEvent> events);

}  // namespace carpool::profile
