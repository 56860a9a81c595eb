#include "learn/forest.hpp"

#include <algorithm>
#include <cmath>

#include "base/numpy_random.hpp"

namespace carpool::learn {

namespace {

constexpr std::uint32_t kLargestSeed = 2147483646;  // scikit-learn draws seeds below 2^31 - 1

std::size_t feature_count(FeatureShare share, Eigen::Index columns) {
  const auto count = static_cast<double>(columns);
  switch (share) {
    case FeatureShare::Sqrt:
      return std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(count)));
    case FeatureShare::Log2:
      return std::max<std::size_t>(1, static_cast<std::size_t>(std::log2(count)));
    case FeatureShare::All:
      break;
  }
  return static_cast<std::size_t>(columns);
}

}  // namespace

TreeSettings tree_settings(const ForestSettings& settings, Eigen::Index columns) {
  return {.max_features = feature_count(settings.features, columns),
          .max_depth = settings.max_depth,
          .min_samples_split = settings.min_samples_split,
          .min_samples_leaf = settings.min_samples_leaf};
}

// In scikit-learn each tree has a seed drawn from that of the forest. A generator with this seed
// draws the rows of the tree, another with the same seed the seed of its choice of features.
ForestChance::ForestChance(std::size_t trees, Eigen::Index rows, std::uint32_t seed)
    : rows_(static_cast<std::size_t>(rows)), counts_(trees * rows_), once_(rows_, 1) {
  NumpyRandom forest(seed);
  for (std::size_t tree = 0; tree < trees; ++tree) {
    const std::uint32_t tree_seed = forest.interval(kLargestSeed);
    seeds_.push_back(NumpyRandom(tree_seed).interval(kLargestSeed));
    NumpyRandom draws(tree_seed);
    for (std::size_t draw = 0; draw < rows_; ++draw) {
      ++counts_[tree * rows_ + draws.interval(static_cast<std::uint32_t>(rows_ - 1))];
    }
  }
}

std::span<const std::uint32_t> ForestChance::counts(std::size_t tree, bool bootstrap) const {
  return bootstrap ? std::span(counts_).subspan(tree * rows_, rows_) : std::span(once_);
}

std::unique_ptr<TreeEnsemble> fit_forest(const Eigen::MatrixXd& rows,
                                         const Eigen::VectorXd& targets,
                                         const ForestSettings& settings,
                                         std::uint32_t seed) {
  const ForestChance chance(settings.trees, rows.rows(), seed);
  const TreeSettings of_tree = tree_settings(settings, rows.cols());
  TreeGrower grower(rows, targets);
  auto forest = std::make_unique<TreeEnsemble>(
      rows.cols(), /*offset=*/0.0, static_cast<double>(settings.trees));
  for (std::size_t tree = 0; tree < settings.trees; ++tree) {
    forest->add(grower.grow(of_tree, chance.counts(tree, settings.bootstrap), chance.seed(tree)));
  }
  return forest;
}

}  // namespace carpool::learn
