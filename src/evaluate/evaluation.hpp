// Evaluates models and rules on a plan: the score of their choices, the accuracy of their
// forecasts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/forecast.hpp"
#include "dataset/dataset.hpp"
#include "evaluate/plan.hpp"

namespace carpool::evaluate {

// What one policy chose for one target in one trial.
struct TargetChoice {
  std::size_t trial = 0;               // position in EvaluationPlan::trials
  std::size_t target = 0;              // profile
  std::optional<std::int64_t> chosen;  // row id; empty for random and best-rule
  double score = 0.0;  // objective of the chosen row / objective of the best row, both as measured
};

// One test row with the forecast of the policy.
struct RowForecast {
  std::size_t trial = 0;
  dataset::GroupRow row;
  GroupForecast forecast;
};

// Ratios from 0 to 1; empty where the policy does not predict the quantity. Each figure is computed
// per trial and averaged over trials.
struct PolicyResult {
  std::string name;
  std::size_t group_size = 0;
  std::optional<double> score_mean;   // empty if no target had a choice
  std::optional<double> score_sd;     // over trials
  std::optional<double> score_worst;  // worst trial
  std::optional<double> mape_sum;
  std::optional<double> mape_member;
  std::optional<double> r2;          // of the sums
  std::optional<double> spearman;    // of the sums
  std::optional<double> mse_z;       // published error: both sides z-scored over the test rows
  std::optional<double> coverage90;  // share of members inside their interval
  std::optional<double> width90;     // mean interval width of a member / its prediction
  std::optional<double> coverage90_sum;
  std::optional<double> width90_sum;
  std::optional<double> floor_violations;
  // All workloads in pairs: measured total over that of the best pairs (evaluate/pairing.hpp).
  std::optional<double> assignment;
  std::optional<double> train_seconds;
  std::size_t splits = 0;
  std::vector<TargetChoice> choices;
  std::vector<RowForecast> forecasts;  // empty unless EvaluationOptions::keep_forecasts
};

struct EvaluationOptions {
  std::string objective = "throughput";
  // For floor_violations: each target also chooses among the groups in which the model forecasts at
  // least this share of the recorded exclusive throughput for every member; a violation is a choice
  // that is below it by the measurement.
  double floor = 0.7;
  std::string features = "default";
  std::uint64_t seed = 0;
  double time_budget_s = 60.0;
  bool keep_forecasts = false;
  // A policy that needs a metric which the dataset lacks is skipped with a warning.
  bool skip_unsupported = false;
  std::function<void(const std::string&)> on_progress;  // called once per policy and trial
};

// All names that can be evaluated: models, then rules; slow models only on request.
[[nodiscard]] std::vector<std::string> policy_names(bool include_slow);

[[nodiscard]] Result<std::vector<PolicyResult>> evaluate(const dataset::Dataset& dataset,
                                                         const EvaluationPlan& plan,
                                                         const std::vector<std::string>& policies,
                                                         const EvaluationOptions& options);

}  // namespace carpool::evaluate
