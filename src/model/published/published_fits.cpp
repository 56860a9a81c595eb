#include "model/published/published_fits.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "learn/boosting.hpp"
#include "learn/cross_validation.hpp"
#include "learn/forest.hpp"
#include "learn/forest_search.hpp"
#include "learn/gaussian_process.hpp"
#include "learn/linear.hpp"
#include "learn/mlp.hpp"

namespace carpool::model {

namespace {

constexpr std::size_t kFolds = 5;
constexpr std::uint32_t kPublishedSeed = 42;
constexpr std::size_t kDraws = 100;

struct NamedFit {
  std::string name;
  learn::Fit fit;
};

learn::Fit boosting_fit(const learn::BoostingSettings& settings, std::uint32_t seed) {
  return [settings, seed](const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets) {
    return learn::fit_boosted_trees(rows, targets, settings, seed);
  };
}

learn::Fit forest_fit(const learn::ForestSettings& settings, std::uint32_t seed) {
  return [settings, seed](const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets) {
    return learn::fit_forest(rows, targets, settings, seed);
  };
}

// Fast ones first, so that a small budget still allows a choice.
std::vector<NamedFit> regressions(std::uint32_t seed) {
  const auto forest = [](learn::FeatureShare features, std::size_t leaf) {
    learn::ForestSettings settings;
    settings.trees = 500;
    settings.features = features;
    settings.min_samples_leaf = leaf;
    return settings;
  };
  const auto boosting = [](std::size_t rounds, std::size_t depth, double rate) {
    learn::BoostingSettings settings;
    settings.rounds = rounds;
    settings.max_depth = depth;
    settings.learning_rate = rate;
    return settings;
  };
  return {
      {"least squares", learn::fit_least_squares},
      {"ridge", learn::fit_cross_validated_ridge},
      {"Gaussian process", learn::fit_gaussian_process},
      {"forest, √ features", forest_fit(forest(learn::FeatureShare::Sqrt, 1), seed)},
      {"forest, all features", forest_fit(forest(learn::FeatureShare::All, 1), seed)},
      {"forest, all features, leaves of 3", forest_fit(forest(learn::FeatureShare::All, 3), seed)},
      {"boosted trees, depth 2", boosting_fit(boosting(100, 2, 0.1), seed)},
      {"boosted trees, depth 3", boosting_fit(boosting(300, 3, 0.05), seed)},
      {"boosted trees, depth 6", boosting_fit(boosting(300, 6, 0.05), seed)},
      {"neural network", [seed](const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets) {
         return learn::fit_mlp(rows, targets, learn::MlpSettings{}, seed);
       }}};
}

Result<std::unique_ptr<learn::Regressor>> fit_leader(const Eigen::MatrixXd& rows,
                                                     const Eigen::VectorXd& targets,
                                                     std::uint32_t seed,
                                                     double budget_s) {
  const Stopwatch stopwatch;
  const std::vector<learn::FoldData> folds = learn::fold_data(rows, targets, kFolds);
  const std::vector<NamedFit> all = regressions(seed);
  const NamedFit* leader = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const NamedFit& candidate : all) {
    if (leader != nullptr && stopwatch.seconds() >= budget_s) {
      log_debug("kace-automl: time budget used up");
      break;
    }
    const auto error = learn::cross_validated_mse(folds, candidate.fit);
    if (!error) {
      return tl::unexpected(error.error());
    }
    log_debug(fmt::format("kace-automl: {}: cross-validated error {:.4f}", candidate.name, *error));
    if (leader == nullptr || *error < least) {
      least = *error;
      leader = &candidate;
    }
  }
  return leader->fit(rows, targets);
}

}  // namespace

learn::Fit automl_fit(std::uint64_t seed, double budget_s) {
  return [seed, budget_s](const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets) {
    return fit_leader(rows, targets, static_cast<std::uint32_t>(seed), budget_s);
  };
}

learn::Fit published_forest_fit(std::uint64_t seed) {
  const auto state = static_cast<std::uint32_t>(kPublishedSeed + seed);
  return [state](const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets) {
    const auto candidates = learn::draw_settings(learn::published_forest_space(), kDraws, state);
    const learn::ForestSearch search =
        learn::search_forest(rows, targets, candidates, kFolds, state);
    return learn::fit_forest(rows, targets, candidates[search.best], state);
  };
}

}  // namespace carpool::model
