// The common class of the published models.
#pragma once

#include <memory>
#include <string_view>

#include "dataset/features.hpp"
#include "learn/regressor.hpp"
#include "learn/standardizer.hpp"
#include "model/throughput_model.hpp"

namespace carpool::model {

struct SumModelParts {
  dataset::FeatureSelection features;
  learn::Standardizer inputs;                   // of the features of the fitted groups
  double target_mean = 0.0;                     // of their throughput sums, units/s
  double target_deviation = 0.0;                // 0: all equal
  std::unique_ptr<learn::Regressor> regressor;  // from standardized features to standardized sum
};

class SumModel final : public ThroughputModel {
 public:
  SumModel(ModelCard card, SumModelParts parts);

  [[nodiscard]] const ModelCard& card() const override { return card_; }

  // `sum` of a forecast standardizes features as in training. `preference` does so as published: by
  // mean and deviation of the candidates, without a unit; a single candidate, which has no
  // deviation, gets 0.
  [[nodiscard]] Result<std::unique_ptr<Forecaster>> bind(
      std::span<const Profile> profiles) const override;

  [[nodiscard]] nlohmann::json params() const override;

 private:
  ModelCard card_;
  SumModelParts parts_;
};

// Standardizes the first fit_rows rows, fits, and writes the card. Its hold-out error is that of
// the other training rows.
[[nodiscard]] Result<std::unique_ptr<ThroughputModel>> train_sum_model(
    std::string_view kind,
    const TrainingSet& training,
    dataset::FeatureSelection features,
    const learn::Fit& fit);

}  // namespace carpool::model
