// Random forests; settings and seed have the meaning of scikit-learn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "learn/tree_ensemble.hpp"
#include "learn/tree_grower.hpp"

namespace carpool::learn {

enum class FeatureShare { Sqrt, Log2, All };  // features considered for a split

struct ForestSettings {
  std::size_t trees = 100;
  FeatureShare features = FeatureShare::All;
  std::optional<std::size_t> max_depth = std::nullopt;
  std::size_t min_samples_split = 2;
  std::size_t min_samples_leaf = 1;
  bool bootstrap = true;  // each tree is fitted to as many rows, drawn with replacement

  friend bool operator==(const ForestSettings&, const ForestSettings&) = default;
};

// The settings of one tree, for rows with this number of columns.
[[nodiscard]] TreeSettings tree_settings(const ForestSettings& settings, Eigen::Index columns);

// The random draws of a forest. They depend on seed and number of rows only, so that forests that
// differ only in the number of trees share their first trees.
class ForestChance {
 public:
  ForestChance(std::size_t trees, Eigen::Index rows, std::uint32_t seed);

  // Seed of the choice of features of a tree.
  [[nodiscard]] std::uint32_t seed(std::size_t tree) const { return seeds_[tree]; }

  // How often each row is drawn for a tree.
  [[nodiscard]] std::span<const std::uint32_t> counts(std::size_t tree, bool bootstrap) const;

 private:
  std::size_t rows_;
  std::vector<std::uint32_t> seeds_;
  std::vector<std::uint32_t> counts_;  // by tree, then row
  std::vector<std::uint32_t> once_;
};

[[nodiscard]] std::unique_ptr<TreeEnsemble> fit_forest(const Eigen::MatrixXd& rows,
                                                       const Eigen::VectorXd& targets,
                                                       const ForestSettings& settings,
                                                       std::uint32_t seed);

}  // namespace carpool::learn
