// The measured group that a policy chooses for a target, and its score.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "dataset/dataset.hpp"
#include "evaluate/evaluation.hpp"
#include "evaluate/plan.hpp"
#include "model/throughput_model.hpp"

namespace carpool::evaluate {

struct ChoiceContext {
  const dataset::Dataset* dataset = nullptr;
  const Trial* trial = nullptr;
  std::size_t trial_position = 0;
  std::string objective;
  double floor = 0.0;
};

// One choice per target with at least two candidates among the test rows; the published scores
// leave other targets out. `forecaster` may be null for the yardsticks random, best-rule and
// oracle.
[[nodiscard]] Result<std::vector<TargetChoice>> choose_for_targets(
    const ChoiceContext& context, const std::string& policy, const model::Forecaster* forecaster);

// Of the targets for which the model finds a group that keeps the floor, the share whose chosen
// group breaks it by the measurement. Speeds are relative to the recorded exclusive throughput on
// both sides. Empty when the model does not predict members or finds no such group.
[[nodiscard]] std::optional<double> floor_violations(const ChoiceContext& context,
                                                     const model::Forecaster& forecaster);

}  // namespace carpool::evaluate
