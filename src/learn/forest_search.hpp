// Random search for the settings of a forest with the result of scikit-learn's RandomizedSearchCV,
// but without growing any tree twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "learn/forest.hpp"

namespace carpool::learn {

struct ForestSearchSpace {
  std::vector<std::size_t> trees;
  std::vector<FeatureShare> features;
  std::vector<std::optional<std::size_t>> max_depth;
  std::vector<std::size_t> min_samples_split;
  std::vector<std::size_t> min_samples_leaf;
  std::vector<bool> bootstrap;
};

// The 4320 settings that the search of KACE and Xu et al. covers.
[[nodiscard]] ForestSearchSpace published_forest_space();

// `count` different settings (all, where the space has fewer), in random order.
[[nodiscard]] std::vector<ForestSettings> draw_settings(const ForestSearchSpace& space,
                                                        std::size_t count,
                                                        std::uint32_t seed);

struct ForestSearch {
  std::size_t best = 0;        // the first candidate with the best score
  std::vector<double> scores;  // R² of each candidate, mean over the folds
};

// Needs at least one candidate and two rows. `seed` is that of every forest.
[[nodiscard]] ForestSearch search_forest(const Eigen::MatrixXd& rows,
                                         const Eigen::VectorXd& targets,
                                         const std::vector<ForestSettings>& candidates,
                                         std::size_t folds,
                                         std::uint32_t seed);

}  // namespace carpool::learn
