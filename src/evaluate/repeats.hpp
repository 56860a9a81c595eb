// Groups that were measured more than once: their average, and how far the runs lie apart.
#pragma once

#include <cstddef>
#include <optional>

#include "dataset/dataset.hpp"

namespace carpool::evaluate {

// Measurements of the same group, whatever its members' order, become one row: their average.
[[nodiscard]] dataset::GroupTable average_repeats(const dataset::GroupTable& table);

// What no model can be better than.
struct Noise {
  std::size_t groups = 0;      // measured more than once
  double member_median = 0.0;  // |a - b| / ((a + b) / 2) of a member in two successive runs
  double member_mean = 0.0;
};

// Nothing where every group was measured once.
[[nodiscard]] std::optional<Noise> noise_of(const dataset::GroupTable& table);

}  // namespace carpool::evaluate
