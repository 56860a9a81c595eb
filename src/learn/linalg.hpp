// The matrix decompositions, in one source because they are slow to compile.
#pragma once

#include <optional>

#include <Eigen/Core>

namespace carpool::learn {

// The x of least norm that minimises |matrix x - target|.
[[nodiscard]] Eigen::VectorXd least_squares(const Eigen::MatrixXd& matrix,
                                            const Eigen::VectorXd& target);

struct PositiveDefiniteSolution {
  Eigen::VectorXd solution;
  double log_determinant = 0.0;  // of the matrix
};

// Solves matrix x = target by Cholesky; nothing: the matrix is not positive definite.
[[nodiscard]] std::optional<PositiveDefiniteSolution> solve_positive_definite(
    const Eigen::MatrixXd& matrix, const Eigen::VectorXd& target);

}  // namespace carpool::learn
