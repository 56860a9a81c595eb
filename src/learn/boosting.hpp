// Gradient-boosted trees, fitted by XGBoost. The fitted trees are copied out of it: prediction and
// model files do not need the library, and a damaged file cannot crash it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "learn/regressor.hpp"

namespace carpool::learn {

struct BoostingSettings {
  std::size_t rounds = 300;
  std::size_t max_depth = 3;
  double learning_rate = 0.05;
  double row_share = 0.8;      // of the rows, drawn anew for each tree
  double feature_share = 0.8;  // of the features, drawn anew for each tree
};

[[nodiscard]] Result<std::unique_ptr<Regressor>> fit_boosted_trees(const Eigen::MatrixXd& rows,
                                                                   const Eigen::VectorXd& targets,
                                                                   const BoostingSettings& settings,
                                                                   std::uint32_t seed);

}  // namespace carpool::learn
