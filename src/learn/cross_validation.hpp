// k-fold cross-validation: contiguous folds in the order of the rows, not shuffled; the first ones
// have one row more where the rows do not divide evenly (scikit-learn's KFold).
#pragma once

#include <cstddef>
#include <vector>

#include "learn/regressor.hpp"

namespace carpool::learn {

struct FoldData {
  Eigen::MatrixXd train_rows;
  Eigen::VectorXd train_targets;
  Eigen::MatrixXd test_rows;
  Eigen::VectorXd test_targets;
};

// At most one fold per row; no folds for fewer than two rows.
[[nodiscard]] std::vector<FoldData> fold_data(const Eigen::MatrixXd& rows,
                                              const Eigen::VectorXd& targets,
                                              std::size_t folds);

// Mean squared error over all held-out rows; the first error of a fit ends it.
[[nodiscard]] Result<double> cross_validated_mse(const std::vector<FoldData>& folds,
                                                 const Fit& fit);

}  // namespace carpool::learn
