#include "learn/small_cholesky.hpp"

#include <cmath>

#include <Eigen/Core>
#include <Eigen/LU>

#include <gtest/gtest.h>

namespace carpool::learn {
namespace {

// B B' + size * I with B(i, j) = sin(1 + i + size * j).
Eigen::MatrixXd positive_definite(Eigen::Index size) {
  Eigen::MatrixXd root(size, size);
  for (Eigen::Index i = 0; i < root.size(); ++i) {
    root(i % size, i / size) = std::sin(1.0 + static_cast<double>(i));
  }
  return root * root.transpose() +
         static_cast<double>(size) * Eigen::MatrixXd::Identity(size, size);
}

TEST(SmallCholesky, SolvesTwoByTwoByHand) {
  // [4 2; 2 5] x = [8; 12] has the solution [1; 2]; the inverse is [5 -2; -2 4] / 16.
  const Eigen::Matrix2d matrix{{4.0, 2.0}, {2.0, 5.0}};
  const SmallCholesky factored(matrix);
  const Eigen::VectorXd solved = factored.solve(Eigen::Vector2d(8.0, 12.0));
  EXPECT_NEAR(solved(0), 1.0, 1e-15);
  EXPECT_NEAR(solved(1), 2.0, 1e-15);
  const Eigen::Matrix2d inverse{{5.0 / 16.0, -2.0 / 16.0}, {-2.0 / 16.0, 4.0 / 16.0}};
  EXPECT_LT((factored.inverse() - inverse).norm(), 1e-15);
}

TEST(SmallCholesky, SolvesAndInvertsEverySizeAroundThePanels) {
  for (Eigen::Index size = 1; size <= 21; ++size) {
    const Eigen::MatrixXd matrix = positive_definite(size);
    const Eigen::VectorXd target = matrix * Eigen::VectorXd::LinSpaced(size, 1.0, 2.0);
    const SmallCholesky factored(matrix);
    EXPECT_LT((factored.solve(target) - Eigen::VectorXd::LinSpaced(size, 1.0, 2.0)).norm(), 1e-12);
    const Eigen::MatrixXd one = factored.inverse() * matrix;
    EXPECT_LT((one - Eigen::MatrixXd::Identity(size, size)).norm(), 1e-12) << size;
    EXPECT_LT((factored.inverse_diagonal() - factored.inverse().diagonal()).norm(), 1e-14) << size;
    EXPECT_NEAR(factored.log_determinant(), std::log(matrix.determinant()), 1e-10) << size;
  }
}

TEST(SmallCholesky, ReadsTheLowerTriangleAlone) {
  Eigen::MatrixXd matrix = positive_definite(9);
  const Eigen::MatrixXd inverse = SmallCholesky(matrix).inverse();
  matrix.triangularView<Eigen::StrictlyUpper>().setConstant(7.0);
  EXPECT_EQ(SmallCholesky(matrix).inverse(), inverse);
}

TEST(SmallCholesky, SkipsZerosBelowNarrowColumns) {
  for (const Eigen::Index narrow : {1, 3, 4, 5, 6}) {
    Eigen::MatrixXd matrix = positive_definite(17);
    const Eigen::Index reach = 2 * narrow;
    matrix.block(reach, 0, 17 - reach, narrow).setZero();
    const Eigen::VectorXd target = Eigen::VectorXd::LinSpaced(17, -1.0, 1.0);
    const Eigen::VectorXd full = SmallCholesky(matrix).solve(target);
    EXPECT_LT((SmallCholesky(matrix, narrow, reach).solve(target) - full).norm(), 1e-14) << narrow;
  }
}

TEST(SmallCholesky, GivesNanWhereTheMatrixIsNotPositiveDefinite) {
  const Eigen::Matrix2d matrix{{1.0, 2.0}, {2.0, 1.0}};
  EXPECT_TRUE(std::isnan(SmallCholesky(matrix).solve(Eigen::Vector2d(1.0, 1.0))(1)));
}

}  // namespace
}  // namespace carpool::learn
