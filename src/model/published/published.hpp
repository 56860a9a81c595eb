// The published models: features of the members added up, standardised, and a regression on the sum
// of throughputs. They fit on TrainingSet::fit_rows rows, predict only the sum and do not support
// thread limits.
// KACE: Han, Paul, Liu, Gandhi, SoCC'24. Xu: Xu et al., HotCloud'19.
#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "model/throughput_model.hpp"

namespace carpool::model {

// Least squares: the model that the paper calls KACE.
[[nodiscard]] Result<std::unique_ptr<ThroughputModel>> train_kace_lr(const TrainingSet& training);

// Random forest, settings by random search. Seed 0 is the published random state.
[[nodiscard]] Result<std::unique_ptr<ThroughputModel>> train_kace_rf(const TrainingSet& training);

// Neural network of 128, 64 and 32 units. Seed 0 is the published random state.
[[nodiscard]] Result<std::unique_ptr<ThroughputModel>> train_kace_nn(const TrainingSet& training);

// The best of several regressions by cross-validation, within the time budget. The published
// version used the best of 30 models of H2O AutoML.
[[nodiscard]] Result<std::unique_ptr<ThroughputModel>> train_kace_automl(
    const TrainingSet& training);

// The search of kace-rf on the features of Xu et al.; Unsupported when the dataset lacks one of
// them.
[[nodiscard]] Result<std::unique_ptr<ThroughputModel>> train_xu(const TrainingSet& training);

// Any of them from the `params` of a model file; Corrupt when these are inconsistent.
[[nodiscard]] Result<std::unique_ptr<ThroughputModel>> load_sum_model(ModelCard card,
                                                                      const nlohmann::json& params);

}  // namespace carpool::model
