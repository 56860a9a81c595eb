// Evaluates memory estimators on measured jobs that they were not fitted to.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/memory_estimator.hpp"
#include "estimate/cudnn/convolution_choices.hpp"
#include "estimate/judge/row_splits.hpp"
#include "estimate/judge/rows.hpp"

namespace carpool::estimate {

struct EstimatorEvaluation {
  std::vector<std::string> estimators{};  // names of the registry
  std::string split = "names";
  double confidence = 0.99;
  // Learned from measured convolutions, for Carpool's estimator; nullptr: by rule of thumb.
  std::shared_ptr<const ConvolutionChoices> convolutions{};
  // Evaluated as it is on all rows; `estimators` and `split` are ignored then.
  const MemoryEstimator* fitted = nullptr;
  // Called with the name of the estimator after each of its folds.
  std::function<void(const std::string&)> fold_done = [](const std::string&) {};
};

// Ratios are 0 to 1, sizes in kPublishedGigabyte. nullopt: no row counts.
struct EstimatorScore {
  std::string estimator{};
  std::string family{};        // of the rows, or "all", "uncontested", or how workspaces are chosen
  std::size_t rows = 0;        // distinct, answered
  std::size_t unanswered = 0;  // distinct
  std::optional<double> accuracy_1gb{};
  std::optional<double> accuracy_2gb{};
  std::optional<double> accuracy_8gb{};  // jobs that ran out of memory are in the last class
  std::optional<double> mape{};
  std::optional<double> mape_above_context{};
  std::optional<double> median_error{};  // |estimate - truth| / truth
  std::optional<double> under{};         // share of estimates below the truth
  std::optional<double> under_5{};       // by more than 5 %
  std::optional<double> mean_over_gb{};  // estimate - truth, 0 where below
  std::optional<double> bound_covers{};
  std::optional<double> bound_under_5{};
  std::optional<double> bound_waste{};  // mean of (bound - truth) / truth, 0 where below
  std::optional<double> bound_waste_median{};
  std::optional<double> bound_waste_gb{};      // mean
  std::optional<double> bound_ratio_median{};  // bound / truth
  std::optional<double> microseconds{};        // of one estimate, median
};

// One estimate of one row, as --json lists it.
struct RowEstimate {
  std::size_t row = 0;
  double expected = 0.0;  // bytes
  double upper = 0.0;
  double seconds = 0.0;
};

struct EstimatorResult {
  std::vector<EstimatorScore> scores{};  // all rows first, then by family
  std::vector<RowEstimate> estimates{};
  std::string refused{};  // why it could not be fitted; empty: it was fitted
};

[[nodiscard]] Result<std::vector<EstimatorResult>> evaluate_estimators(
    const std::vector<MeasuredJob>& rows, const EstimatorEvaluation& settings);

}  // namespace carpool::estimate
