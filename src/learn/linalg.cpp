#include "learn/linalg.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>

namespace carpool::learn {

Eigen::VectorXd least_squares(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& target) {
  return Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd>(matrix).solve(target);
}

std::optional<PositiveDefiniteSolution> solve_positive_definite(const Eigen::MatrixXd& matrix,
                                                                const Eigen::VectorXd& target) {
  const Eigen::LLT<Eigen::MatrixXd> factor(matrix);
  if (factor.info() != Eigen::Success) {
    return std::nullopt;
  }
  return PositiveDefiniteSolution{
      .solution = factor.solve(target),
      .log_determinant = 2.0 * factor.matrixLLT().diagonal().array().log().sum()};
}

}  // namespace carpool::learn
