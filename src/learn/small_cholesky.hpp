// Cholesky factors of matrices of some tens to hundreds of rows, for which Eigen's general routines
// spend more on preparation than on arithmetic.
#pragma once

#include <Eigen/Core>

namespace carpool::learn {

class SmallCholesky {
 public:
  // Reads the lower triangle of a symmetric positive definite matrix. Where it is not positive
  // definite, what is solved is not a number.
  explicit SmallCholesky(Eigen::MatrixXd matrix);

  // The same for a matrix whose first `narrow` columns are zero from row `reach` on.
  SmallCholesky(Eigen::MatrixXd matrix, Eigen::Index narrow, Eigen::Index reach);

  [[nodiscard]] Eigen::VectorXd solve(Eigen::VectorXd target) const;
  [[nodiscard]] Eigen::MatrixXd inverse() const;
  // A third of the work of the whole inverse.
  [[nodiscard]] Eigen::VectorXd inverse_diagonal() const;
  [[nodiscard]] double log_determinant() const;

 private:
  Eigen::MatrixXd factor_;  // lower triangle: matrix = factor * factor'; above it, what was given
};

}  // namespace carpool::learn
