// Cholesky decomposition of matrices of tens to hundreds of rows, for which Eigen's general
// routines spend more time on preparation than on arithmetic.
#pragma once

#include <Eigen/Core>

namespace carpool::learn {

class SmallCholesky {
 public:
  // Reads the lower triangle of a symmetric positive definite matrix. If it is not positive
  // definite, the solutions are NaN.
  explicit SmallCholesky(Eigen::MatrixXd matrix);

  // The same for a matrix whose first `narrow` columns are zero from row `reach` on.
  SmallCholesky(Eigen::MatrixXd matrix, Eigen::Index narrow, Eigen::Index reach);

  [[nodiscard]] Eigen::VectorXd solve(Eigen::VectorXd target) const;
  [[nodiscard]] Eigen::MatrixXd inverse() const;
  // A third of the work of the whole inverse.
  [[nodiscard]] Eigen::VectorXd inverse_diagonal() const;
  [[nodiscard]] double log_determinant() const;

 private:
  Eigen::MatrixXd
      factor_;  // lower triangle: matrix = factor * factor'; the upper one is that of the matrix
};

}  // namespace carpool::learn
