#include "learn/gaussian_process.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

namespace carpool::learn {
namespace {

// NaN, which compares false with everything, where the kernel matrix is singular.
double density_of(const Eigen::MatrixXd& rows,
                  const Eigen::VectorXd& targets,
                  const GaussianKernel& kernel) {
  return log_marginal_likelihood(rows, targets, kernel)
      .value_or(std::numeric_limits<double>::quiet_NaN());
}

// K = 4 [[1.1, e], [e, 1.1]] with e = exp(-1/2). Targets -1, 1 are its eigenvector with value
// 4 (1.1 - e); the other value is 4 (1.1 + e).
TEST(GaussianProcess, LikelihoodOfTwoRowsAgreesWithTheFormula) {
  const double e = std::exp(-0.5);
  const double expected = -0.5 * (2.0 / (4.0 * (1.1 - e)) + std::log(16.0 * (1.1 - e) * (1.1 + e)) +
                                  2.0 * std::log(2.0 * std::numbers::pi));
  const double density = density_of(Eigen::MatrixXd{{0}, {1}},
                                    Eigen::VectorXd{{4, 6}},  // mean 5
                                    {.amplitude = 2.0, .length = 1.0, .noise = 0.1});
  EXPECT_NEAR(density, expected, 1e-12);
}

// 3 + 2 exp(-1/8) - exp(-9/8) at distance 1 and 3, length 2.
TEST(GaussianProcess, PredictsAWeightedSumOfSimilarities) {
  const GaussianProcess process(Eigen::MatrixXd{{0}, {4}}, Eigen::VectorXd{{2, -1}}, 3.0, 2.0);
  EXPECT_NEAR(process.predict(Eigen::MatrixXd{{1}})(0),
              3.0 + 2.0 * std::exp(-0.125) - std::exp(-1.125),
              1e-12);
}

struct ProcessSample {
  Eigen::MatrixXd rows = Eigen::MatrixXd(25, 2);
  Eigen::VectorXd targets = Eigen::VectorXd(25);

  ProcessSample() {
    for (Eigen::Index i = 0; i < 25; ++i) {
      const Eigen::Index column = i % 5;
      const Eigen::Index line = i / 5;
      rows(i, 0) = static_cast<double>(column) - 2.0;
      rows(i, 1) = static_cast<double>(line) - 2.0;
      targets(i) = 5.0 + std::sin(rows(i, 0)) + 0.5 * rows(i, 1);
    }
  }
};

TEST(GaussianProcess, ChoosesTheMostLikelyKernel) {
  const ProcessSample sample;
  const GaussianKernel best = most_likely_kernel(sample.rows, sample.targets);
  const double density = density_of(sample.rows, sample.targets, best);
  const double unit = std::sqrt(2.0);
  for (const double amplitude : {0.8 * best.amplitude, 1.2 * best.amplitude}) {
    EXPECT_LT(density_of(sample.rows, sample.targets, {amplitude, best.length, best.noise}),
              density);
  }
  for (const double length : {0.25 * unit, unit, 4.0 * unit}) {
    for (const double noise : {1e-3, 0.1, 1.0}) {
      EXPECT_LE(density_of(sample.rows, sample.targets, {best.amplitude, length, noise}), density);
    }
  }
}

TEST(GaussianProcess, InterpolatesASmoothFunction) {
  const ProcessSample sample;
  const auto fitted = fit_gaussian_process(sample.rows, sample.targets);
  ASSERT_TRUE(fitted.has_value());
  EXPECT_NEAR(
      (*fitted)->predict(Eigen::MatrixXd{{0.5, -0.5}})(0), 5.0 + std::sin(0.5) - 0.25, 0.05);
}

}  // namespace
}  // namespace carpool::learn
