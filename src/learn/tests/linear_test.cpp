#include "learn/linear.hpp"

#include <gtest/gtest.h>

namespace carpool::learn {
namespace {

// Slope Sxy / Sxx with x mean 1.5, y mean 2.25: Sxy = 4.5, Sxx = 5; intercept 2.25 - 0.9 · 1.5.
TEST(LeastSquares, AgreesWithTheTextbookFormula) {
  const Eigen::MatrixXd rows{{0}, {1}, {2}, {3}};
  const Eigen::VectorXd targets{{1, 2, 2, 4}};
  const auto fitted = fit_least_squares(rows, targets);
  EXPECT_NEAR(fitted->coefficients()(0), 0.9, 1e-12);
  EXPECT_NEAR(fitted->intercept(), 0.9, 1e-12);
  EXPECT_NEAR(fitted->predict(Eigen::MatrixXd{{10}})(0), 9.9, 1e-12);
}

// y = 4x with the column given twice: w1 + w2 = 4, and w1² + w2² is least for 2 and 2.
TEST(LeastSquares, SharesTheWeightBetweenEqualColumns) {
  const Eigen::MatrixXd rows{{0, 0}, {1, 1}, {2, 2}};
  const auto fitted = fit_least_squares(rows, Eigen::VectorXd{{0, 4, 8}});
  EXPECT_NEAR(fitted->coefficients()(0), 2.0, 1e-12);
  EXPECT_NEAR(fitted->coefficients()(1), 2.0, 1e-12);
}

TEST(LeastSquares, GivesNoWeightToAColumnWithoutVariation) {
  const Eigen::MatrixXd rows{{0, 5}, {1, 5}, {2, 5}};
  const auto fitted = fit_least_squares(rows, Eigen::VectorXd{{1, 3, 5}});
  EXPECT_NEAR(fitted->coefficients()(0), 2.0, 1e-12);
  EXPECT_EQ(fitted->coefficients()(1), 0.0);
  EXPECT_NEAR(fitted->intercept(), 1.0, 1e-12);
}

// Two points in five dimensions, one of which does not vary: w = d (y2 - y1) / |d|².
TEST(LeastSquares, TakesTheShortestSolutionWithFewerRowsThanColumns) {
  const Eigen::MatrixXd rows{{0, 0, 0, 0, 7}, {1, 2, 2, 4, 7}};
  const auto fitted = fit_least_squares(rows, Eigen::VectorXd{{0, 50}});
  EXPECT_TRUE(fitted->coefficients().isApprox(Eigen::VectorXd{{2, 4, 4, 8, 0}}, 1e-12));
}

// Centred x = -1, 0, 1 and y = -3, 0, 3: w = Sxy / (Sxx + penalty) = 6 / (2 + 1).
TEST(Ridge, ShrinksTheSlopeByThePenalty) {
  const Eigen::MatrixXd rows{{4}, {5}, {6}};
  const auto fitted = fit_ridge(rows, Eigen::VectorXd{{7, 10, 13}}, 1.0);
  EXPECT_NEAR(fitted->coefficients()(0), 2.0, 1e-12);
  EXPECT_NEAR(fitted->intercept(), 10.0 - 5.0 * 2.0, 1e-12);
}

TEST(Ridge, CrossValidationShrinksNoiseAndKeepsALine) {
  Eigen::MatrixXd rows(20, 1);
  Eigen::VectorXd line(20);
  Eigen::VectorXd noise(20);
  for (Eigen::Index row = 0; row < 20; ++row) {
    const auto x = static_cast<double>(row);
    rows(row, 0) = std::sin(7.0 * x);
    line(row) = 3.0 * rows(row, 0) + 1.0;
    noise(row) = std::cos(11.0 * x * x);
  }
  EXPECT_NEAR(fit_cross_validated_ridge(rows, line)->coefficients()(0), 3.0, 0.01);
  const double free = fit_least_squares(rows, noise)->coefficients()(0);
  EXPECT_LT(std::abs(fit_cross_validated_ridge(rows, noise)->coefficients()(0)),
            0.9 * std::abs(free));
}

}  // namespace
}  // namespace carpool::learn
