// Order statistics. All of them need at least one value.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace carpool {

// The value below which `share` (0 to 1) of the values lie, linear between the two nearest ranks.
// `sorted` is in ascending order.
[[nodiscard]] double quantile_of_sorted(std::span<const double> sorted, double share);
[[nodiscard]] double quantile(std::vector<double> values, double share);

// The mean of the two middle values where their number is even.
[[nodiscard]] double median(std::vector<double> values);

// Index of the value that bounds a new one with this confidence when all are exchangeable: rank
// ceil(confidence * (count + 1)) of split conformal prediction, at most the last.
[[nodiscard]] std::size_t conformal_index(std::size_t count, double confidence);

}  // namespace carpool
