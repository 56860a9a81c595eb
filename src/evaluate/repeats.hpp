// Groups that were measured more than once: their average, and the noise between runs.
#pragma once

#include <cstddef>
#include <optional>

#include "dataset/dataset.hpp"

namespace carpool::evaluate {

// Averages the measurements of each group, whatever the order of its members, into one row.
[[nodiscard]] dataset::GroupTable average_repeats(const dataset::GroupTable& table);

// The noise of measurements, a lower bound for the error of any model.
struct Noise {
  std::size_t groups = 0;      // measured more than once
  double member_median = 0.0;  // |a - b| / ((a + b) / 2) of a member in two successive runs
  double member_mean = 0.0;
};

// Empty where every group was measured once.
[[nodiscard]] std::optional<Noise> noise_of(const dataset::GroupTable& table);

}  // namespace carpool::evaluate
