// All workloads in pairs: the score of the assignment that the forecasts of a policy lead to.
#pragma once

#include <optional>

#include "dataset/dataset.hpp"
#include "evaluate/plan.hpp"
#include "model/throughput_model.hpp"
#include "predict/objective.hpp"

namespace carpool::evaluate {

// The measured total of the pairs that the policy would form, over the total of the best pairs by
// the measurements; both by maximum weighted matching, over the pairs of the trial (training and
// test rows), in which each pair occurs once. Empty where groups are not pairs, the number of
// workloads is odd, no perfect matching of measured pairs exists, or the objective is not a sum.
[[nodiscard]] std::optional<double> pairing_score(const dataset::Dataset& dataset,
                                                  const predict::Objective& objective,
                                                  const Trial& trial,
                                                  const model::Forecaster& forecaster);

}  // namespace carpool::evaluate
