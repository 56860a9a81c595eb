#include "learn/forest_search.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/numpy_random.hpp"
#include "learn/cross_validation.hpp"

namespace carpool::learn {

namespace {

// The settings that determine a tree, apart from a limit of its depth. Candidates of the same shape
// share trees: two shares of the features may be the same number, a node too small for two leaves
// is not split, and the number of trees only determines where to stop.
struct Shape {
  std::size_t max_features;
  std::size_t min_samples_split;
  std::size_t min_samples_leaf;
  bool bootstrap;
  friend auto operator<=>(const Shape&, const Shape&) = default;
};

Shape shape_of(const ForestSettings& settings, Eigen::Index columns) {
  return {.max_features = tree_settings(settings, columns).max_features,
          .min_samples_split = std::max(settings.min_samples_split, 2 * settings.min_samples_leaf),
          .min_samples_leaf = settings.min_samples_leaf,
          .bootstrap = settings.bootstrap};
}

// A candidate's forest on one fold while it grows.
struct Growing {
  std::size_t candidate;
  std::size_t trees;
  std::optional<std::size_t> max_depth;
};

// scikit-learn's r2_score: for constant targets 1 where all are predicted exactly, else 0.
double r_squared(const Eigen::VectorXd& predicted, const Eigen::VectorXd& measured) {
  const double residual = (predicted - measured).squaredNorm();
  const double total = (measured.array() - measured.mean()).matrix().squaredNorm();
  if (total == 0.0) {
    return residual == 0.0 ? 1.0 : 0.0;
  }
  return 1.0 - residual / total;
}

// Candidates of one shape on one fold.
class FoldScorer {
 public:
  FoldScorer(const FoldData& fold, const ForestChance& chance)
      : fold_(fold),
        chance_(chance),
        test_inputs_(fold.test_rows.transpose().cast<float>()),
        grower_(fold.train_rows, fold.train_targets) {}

  // Adds R² / folds of each candidate to its score.
  void score(const Shape& shape,
             const std::vector<Growing>& group,
             double folds,
             std::vector<double>& scores) {
    std::map<std::optional<std::size_t>, Eigen::VectorXd> sums;  // by depth limit
    std::size_t most_trees = 0;
    for (const Growing& growing : group) {
      sums[growing.max_depth] = Eigen::VectorXd::Zero(fold_.test_rows.rows());
      most_trees = std::max(most_trees, growing.trees);
    }
    for (std::size_t tree = 0; tree < most_trees; ++tree) {
      add_tree(shape, tree, sums);
      for (const Growing& growing : group) {
        if (growing.trees == tree + 1) {
          const Eigen::VectorXd mean = sums[growing.max_depth] / static_cast<double>(growing.trees);
          scores[growing.candidate] += r_squared(mean, fold_.test_targets) / folds;
        }
      }
    }
  }

 private:
  // A limit that the unlimited tree does not reach changes nothing.
  void add_tree(const Shape& shape,
                std::size_t tree,
                std::map<std::optional<std::size_t>, Eigen::VectorXd>& sums) {
    const std::size_t full_depth = grow(shape, tree, std::nullopt);
    const Eigen::VectorXd full = predictions_;
    for (auto& [limit, sum] : sums) {
      if (limit && *limit < full_depth) {
        grow(shape, tree, limit);
        sum += predictions_;
      } else {
        sum += full;
      }
    }
  }

  std::size_t grow(const Shape& shape, std::size_t tree, std::optional<std::size_t> limit) {
    const Tree& grown = grower_.grow({.max_features = shape.max_features,
                                      .max_depth = limit,
                                      .min_samples_split = shape.min_samples_split,
                                      .min_samples_leaf = shape.min_samples_leaf},
                                     chance_.counts(tree, shape.bootstrap),
                                     chance_.seed(tree));
    predictions_.resize(test_inputs_.cols());
    for (Eigen::Index row = 0; row < test_inputs_.cols(); ++row) {
      predictions_(row) = predict_tree(grown.data(), test_inputs_.col(row).data());
    }
    return grower_.depth();
  }

  const FoldData& fold_;
  const ForestChance& chance_;
  Eigen::MatrixXf test_inputs_;  // one column per row
  TreeGrower grower_;
  Eigen::VectorXd predictions_;  // of the last tree
};

}  // namespace

ForestSearchSpace published_forest_space() {
  ForestSearchSpace space{.trees = {},
                          .features = {FeatureShare::Sqrt, FeatureShare::Log2},
                          .max_depth = {},
                          .min_samples_split = {2, 5, 10},
                          .min_samples_leaf = {1, 2, 4},
                          .bootstrap = {true, false}};
  for (std::size_t step = 1; step <= 10; ++step) {
    space.trees.push_back(200 * step);
  }
  for (std::size_t step = 1; step <= 11; ++step) {
    space.max_depth.emplace_back(10 * step);
  }
  space.max_depth.emplace_back(std::nullopt);
  return space;
}

// scikit-learn numbers the settings so that the alphabetically last name (n_estimators) varies
// fastest, and takes the first numbers of a permutation.
std::vector<ForestSettings> draw_settings(const ForestSearchSpace& space,
                                          std::size_t count,
                                          std::uint32_t seed) {
  const std::size_t size = space.trees.size() * space.features.size() * space.max_depth.size() *
                           space.min_samples_split.size() * space.min_samples_leaf.size() *
                           space.bootstrap.size();
  std::vector<std::size_t> order = NumpyRandom(seed).permutation(size);
  order.resize(std::min(count, size));
  std::vector<ForestSettings> drawn;
  for (std::size_t number : order) {
    const auto pick = [&number](const auto& choices) {
      const auto choice = choices[number % choices.size()];
      number /= choices.size();
      return choice;
    };
    ForestSettings settings;
    settings.trees = pick(space.trees);
    settings.min_samples_split = pick(space.min_samples_split);
    settings.min_samples_leaf = pick(space.min_samples_leaf);
    settings.features = pick(space.features);
    settings.max_depth = pick(space.max_depth);
    settings.bootstrap = pick(space.bootstrap);
    drawn.push_back(settings);
  }
  return drawn;
}

ForestSearch search_forest(const Eigen::MatrixXd& rows,
                           const Eigen::VectorXd& targets,
                           const std::vector<ForestSettings>& candidates,
                           std::size_t folds,
                           std::uint32_t seed) {
  std::map<Shape, std::vector<Growing>> groups;
  std::size_t most_trees = 0;
  for (std::size_t index = 0; index < candidates.size(); ++index) {
    const ForestSettings& settings = candidates[index];
    groups[shape_of(settings, rows.cols())].push_back(
        {.candidate = index, .trees = settings.trees, .max_depth = settings.max_depth});
    most_trees = std::max(most_trees, settings.trees);
  }
  ForestSearch search{.best = 0, .scores = std::vector<double>(candidates.size(), 0.0)};
  const std::vector<FoldData> parts = fold_data(rows, targets, folds);
  for (const FoldData& fold : parts) {
    const ForestChance chance(most_trees, fold.train_rows.rows(), seed);
    FoldScorer scorer(fold, chance);
    for (const auto& [shape, group] : groups) {
      scorer.score(shape, group, static_cast<double>(parts.size()), search.scores);
    }
  }
  const auto best = std::max_element(search.scores.begin(), search.scores.end());
  search.best = static_cast<std::size_t>(best - search.scores.begin());
  return search;
}

}  // namespace carpool::learn
