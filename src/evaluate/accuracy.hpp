// The accuracy of forecasts over the test rows of one trial.
#pragma once

#include <optional>
#include <span>

#include "core/forecast.hpp"
#include "dataset/dataset.hpp"

namespace carpool::evaluate {

// Empty where the forecasts lack the quantity (a rule has no sum, a published model no members).
struct Accuracy {
  std::optional<double> mape_sum;
  std::optional<double> mape_member;
  std::optional<double> r2;
  std::optional<double> spearman;
  std::optional<double> mse_z;
  std::optional<double> coverage90;
  std::optional<double> width90;
  std::optional<double> coverage90_sum;
  std::optional<double> width90_sum;
};

// `forecasts[i]` is for `rows[i]`; all were made in one call, so that the preferences of the
// published models are normalised over these rows, as their published error was.
[[nodiscard]] Accuracy measure_accuracy(std::span<const dataset::GroupRow> rows,
                                        std::span<const GroupForecast> forecasts);

}  // namespace carpool::evaluate
