// Figures that compare predictions with measurements. Empty input gives an empty optional.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace carpool::evaluate {

[[nodiscard]] std::optional<double> mean(std::span<const double> values);

// Sample standard deviation (n - 1); empty for fewer than two values.
[[nodiscard]] std::optional<double> standard_deviation(std::span<const double> values);

// Mean of |predicted - measured| / measured over the entries with measured > 0.
[[nodiscard]] std::optional<double> mean_absolute_percentage_error(
    std::span<const double> predicted, std::span<const double> measured);

// 1 - residual sum of squares / total sum of squares; empty when the measurements do not vary.
[[nodiscard]] std::optional<double> r_squared(std::span<const double> predicted,
                                              std::span<const double> measured);

// Rank correlation with average ranks for ties; empty when one side does not vary.
[[nodiscard]] std::optional<double> spearman(std::span<const double> left,
                                             std::span<const double> right);

// (value - mean) / sd with n - 1; all zero when the values do not vary.
[[nodiscard]] std::vector<double> z_scores(std::span<const double> values);

}  // namespace carpool::evaluate
