// Measurements as forecasts, so that both are scored by the same code.
#pragma once

#include <vector>

#include "core/forecast.hpp"
#include "core/group.hpp"
#include "dataset/dataset.hpp"

namespace carpool::evaluate {

// The forecast of a model that knows the measurement.
[[nodiscard]] GroupForecast as_measured(const dataset::GroupRow& row);

// The exclusive throughput that the dataset records for each member.
[[nodiscard]] std::vector<double> recorded_speeds(const dataset::Dataset& dataset,
                                                  const Group& group);

}  // namespace carpool::evaluate
