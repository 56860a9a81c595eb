// Fits Carpool's estimator to measured jobs.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "estimate/bound/carpool_estimator.hpp"

namespace carpool::estimate {

// The facts of each row, computed once: replays are the same in every fold.
class FactsCache {
 public:
  // nullptr: workspaces of convolutions by rule of thumb.
  explicit FactsCache(std::shared_ptr<const ConvolutionChoices> convolutions)
      : convolutions_(std::move(convolutions)) {}

  [[nodiscard]] const std::shared_ptr<const ConvolutionChoices>& convolutions() const {
    return convolutions_;
  }
  [[nodiscard]] Result<const JobFacts*> of(const MeasuredJob& row);

 private:
  std::shared_ptr<const ConvolutionChoices> convolutions_;
  std::unordered_map<const MeasuredJob*, JobFacts> facts_;
};

// Holds pointers to the rows, which must outlive it.
struct EstimatorTraining {
  std::vector<const MeasuredJob*> rows{};
  // Held-out rows for the margins; empty: margins from the training rows, with cross-fitted trees.
  std::vector<const MeasuredJob*> calibration{};
  double confidence = kDefaultConfidence;
  FactsCache* cache = nullptr;  // never null
};

// Rows that ran out of memory are left out: their peak is not known.
[[nodiscard]] Result<std::unique_ptr<CarpoolEstimator>> fit_carpool(
    const EstimatorTraining& training);

}  // namespace carpool::estimate
