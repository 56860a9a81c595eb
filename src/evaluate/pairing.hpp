// Everybody into pairs: how good is the whole assignment that a policy's view of the pairs leads
// to.
#pragma once

#include <optional>

#include "dataset/dataset.hpp"
#include "evaluate/plan.hpp"
#include "model/throughput_model.hpp"
#include "predict/objective.hpp"

namespace carpool::evaluate {

// The measured total of the pairs that the policy would form, over the total of the best pairs by
// the measurements; both by maximum weighted matching, over the pairs of the trial (training and
// test rows), in which each pair stands once. Nothing where groups are no pairs, the number of
// workloads is odd, the pairs do not reach everybody, or the objective is no sum.
[[nodiscard]] std::optional<double> pairing_score(const dataset::Dataset& dataset,
                                                  const predict::Objective& objective,
                                                  const Trial& trial,
                                                  const model::Forecaster& forecaster);

}  // namespace carpool::evaluate
