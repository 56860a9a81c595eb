#include <cstdint>
#include <utility>

#include "learn/linear.hpp"
#include "learn/mlp.hpp"
#include "model/published/published.hpp"
#include "model/published/published_fits.hpp"
#include "model/published/sum_model.hpp"

namespace carpool::model {

namespace {

constexpr std::uint32_t kNetworkSeed = 50;

Result<std::unique_ptr<ThroughputModel>> train_kace(std::string_view kind,
                                                    const TrainingSet& training,
                                                    const learn::Fit& fit) {
  auto features = dataset::select_features(*training.dataset, training.features);
  if (!features) {
    return tl::unexpected(features.error());
  }
  return train_sum_model(kind, training, *std::move(features), fit);
}

}  // namespace

Result<std::unique_ptr<ThroughputModel>> train_kace_lr(const TrainingSet& training) {
  return train_kace("kace-lr", training, learn::fit_least_squares);
}

Result<std::unique_ptr<ThroughputModel>> train_kace_rf(const TrainingSet& training) {
  return train_kace("kace-rf", training, published_forest_fit(training.seed));
}

Result<std::unique_ptr<ThroughputModel>> train_kace_nn(const TrainingSet& training) {
  const auto seed = static_cast<std::uint32_t>(kNetworkSeed + training.seed);
  return train_kace(
      "kace-nn", training, [seed](const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets) {
        return learn::fit_mlp(rows, targets, learn::MlpSettings{}, seed);
      });
}

Result<std::unique_ptr<ThroughputModel>> train_kace_automl(const TrainingSet& training) {
  return train_kace("kace-automl", training, automl_fit(training.seed, training.time_budget_s));
}

}  // namespace carpool::model
