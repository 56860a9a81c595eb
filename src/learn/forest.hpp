// Random forests with scikit-learn's meaning of settings and seed.
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

enum class FeatureShare { Sqrt, Log2, All };  // how many features a split looks at

struct ForestSettings {
  std::size_t trees = 100;
  FeatureShare features = FeatureShare::All;
  std::optional<std::size_t> max_depth = std::nullopt;
  std::size_t min_samples_split = 2;
  std::size_t min_samples_leaf = 1;
  bool bootstrap = true;  // each tree sees as many rows as there are, drawn with replacement

  friend bool operator==(const ForestSettings&, const ForestSettings&) = default;
};

// The settings of one tree of it, for rows with so many columns.
[[nodiscard]] TreeSettings tree_settings(const ForestSettings& settings, Eigen::Index columns);

// The chance in a forest: fixed by seed and number of rows, whatever the settings. So forests that
// differ in the number of trees alone have their first trees in common.
class ForestChance {
 public:
  ForestChance(std::size_t trees, Eigen::Index rows, std::uint32_t seed);

  // Starts the choice of features of a tree.
  [[nodiscard]] std::uint32_t seed(std::size_t tree) const { return seeds_[tree]; }

  // How often a tree sees each row.
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
