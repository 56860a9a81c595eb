// The last samples of a GPU counter as one number.
#pragma once

#include <span>

namespace carpool {

// CARMA's score: 0.2 mean + 0.3 median + 0.3 p95 + 0.2 exponential mean with alpha 2 / (n + 1).
// Samples in the order of time; 0 for none.
[[nodiscard]] double window_score(std::span<const double> samples);

}  // namespace carpool
