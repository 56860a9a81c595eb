// The worth of a group by an objective: as measured, and as a policy predicts it.
#pragma once

#include <span>
#include <vector>

#include "core/forecast.hpp"
#include "core/group.hpp"
#include "dataset/dataset.hpp"
#include "model/throughput_model.hpp"
#include "predict/objective.hpp"

namespace carpool::evaluate {

// The measurement as a forecast, so that both are scored by the same code.
[[nodiscard]] GroupForecast as_measured(const dataset::GroupRow& row);

// Speeds are relative to the recorded exclusive throughput.
[[nodiscard]] predict::Score score_against_recorded(const dataset::Dataset& dataset,
                                                    const predict::Objective& objective,
                                                    const GroupForecast& forecast,
                                                    const Group& group);

[[nodiscard]] double measured_worth(const dataset::Dataset& dataset,
                                    const predict::Objective& objective,
                                    const dataset::GroupRow& row);

// By the model's preference for the published objective and for methods that only rank; otherwise
// by the objective on the predicted members.
[[nodiscard]] std::vector<double> predicted_worth(const dataset::Dataset& dataset,
                                                  const predict::Objective& objective,
                                                  const model::Forecaster& forecaster,
                                                  std::span<const Group> groups);

}  // namespace carpool::evaluate
