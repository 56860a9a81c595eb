// Predictions as JSON and as tables.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/output.hpp"
#include "core/forecast.hpp"
#include "core/prediction.hpp"

namespace carpool::app {

[[nodiscard]] nlohmann::json prediction_to_json(const Prediction& prediction);
[[nodiscard]] nlohmann::json interval_to_json(const std::optional<Interval>& interval);

// One line per member and one for the group. `unit` is the throughput unit of the dataset.
void print_prediction(const Prediction& prediction, const std::string& unit, const Output& output);

}  // namespace carpool::app
