#include "learn/boosting.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace carpool::learn {
namespace {

constexpr BoostingSettings kOneStump{
    .rounds = 1, .max_depth = 1, .learning_rate = 1.0, .row_share = 1.0, .feature_share = 1.0};

// Mean 2, residuals -2 -2 2 2. A leaf of XGBoost is Σ residual / (rows + 1): ∓4 / 3.
TEST(BoostedTrees, OneStumpAgreesWithTheFormula) {
  const auto fitted = fit_boosted_trees(
      Eigen::MatrixXd{{0}, {0}, {1}, {1}}, Eigen::VectorXd{{0, 0, 4, 4}}, kOneStump, 1);
  ASSERT_TRUE(fitted.has_value()) << fitted.error().message;
  // The cut lies at 0.5, and 0.5 itself goes right.
  const Eigen::VectorXd values = (*fitted)->predict(Eigen::MatrixXd{{0}, {0.4999}, {0.5}, {1}});
  const double low = 2.0 - 4.0 / 3.0;
  const double high = 2.0 + 4.0 / 3.0;
  EXPECT_TRUE(values.isApprox(Eigen::VectorXd{{low, low, high, high}}, 1e-6)) << values;
}

struct BoostingSample {
  Eigen::MatrixXd rows = Eigen::MatrixXd(30, 3);
  Eigen::VectorXd targets = Eigen::VectorXd(30);

  BoostingSample() {
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      for (Eigen::Index j = 0; j < rows.cols(); ++j) {
        rows(i, j) = std::sin(static_cast<double>(1 + 5 * i + 3 * j * i));
      }
      targets(i) = 10.0 + rows(i, 0) * rows(i, 1);
    }
  }
};

Eigen::VectorXd predictions(const BoostingSample& sample, std::uint32_t seed) {
  const auto fitted = fit_boosted_trees(sample.rows, sample.targets, BoostingSettings{}, seed);
  return fitted ? (*fitted)->predict(sample.rows) : Eigen::VectorXd();
}

TEST(BoostedTrees, ApproximateTheTargets) {
  const BoostingSample sample;
  const Eigen::VectorXd values = predictions(sample, 1);
  ASSERT_EQ(values.size(), 30);
  const double spread = (sample.targets.array() - sample.targets.mean()).matrix().norm();
  EXPECT_LT((values - sample.targets).norm(), 0.3 * spread);
}

TEST(BoostedTrees, DependOnTheSeedOnly) {
  const BoostingSample sample;
  EXPECT_EQ(predictions(sample, 1), predictions(sample, 1));
  EXPECT_NE(predictions(sample, 1), predictions(sample, 2));
}

}  // namespace
}  // namespace carpool::learn
