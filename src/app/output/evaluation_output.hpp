// Evaluation results as JSON and as tables.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/output.hpp"
#include "dataset/dataset.hpp"
#include "evaluate/evaluation.hpp"
#include "evaluate/plan.hpp"

namespace carpool::app {

struct EvaluationListing {
  const dataset::Dataset& dataset;
  const evaluate::EvaluationPlan& plan;
  const std::vector<evaluate::PolicyResult>& results;
};

// {"protocol", "data", "results": [...]}; ratios from 0 to 1, null where a policy does not predict
// the value.
[[nodiscard]] nlohmann::json evaluation_to_json(const EvaluationListing& listing, bool per_target);

void print_evaluation(const EvaluationListing& listing, const Output& output);
void print_targets(const EvaluationListing& listing, const Output& output);

// Mean score of each target over the trials, per policy in the order of `results`; targets in the
// order of the dataset. The score is 0 where a policy was never scored on the target.
struct TargetSummary {
  std::size_t target = 0;
  std::vector<double> scores;     // one per policy
  std::vector<std::size_t> best;  // positions of the policies with the highest score, oracle aside
};
[[nodiscard]] std::vector<TargetSummary> summarise_targets(const EvaluationListing& listing);

}  // namespace carpool::app
