#include "learn/levenberg_marquardt.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace carpool::learn {
namespace {

// Rosenbrock's valley, f = (10 (y - x^2))^2 + (1 - x)^2, whose minimum is 0 at (1, 1).
class Rosenbrock final : public LeastSquaresProblem {
 public:
  [[nodiscard]] double cost(const Eigen::VectorXd& x) override { return residual(x).squaredNorm(); }

  void linearise(const Eigen::VectorXd& x) override {
    Eigen::Matrix2d jacobian;
    jacobian << -20.0 * x(0), 10.0, -1.0, 0.0;
    matrix_ = jacobian.transpose() * jacobian;
    gradient_ = jacobian.transpose() * residual(x);
  }

  [[nodiscard]] std::optional<Eigen::VectorXd> step(double damping) const override {
    const Eigen::Matrix2d damped = matrix_ + damping * Eigen::Matrix2d::Identity();
    const double determinant = damped(0, 0) * damped(1, 1) - damped(0, 1) * damped(1, 0);
    return Eigen::Vector2d(damped(1, 1) * -gradient_(0) + damped(0, 1) * gradient_(1),
                           damped(1, 0) * gradient_(0) - damped(0, 0) * gradient_(1)) /
           determinant;
  }

  [[nodiscard]] double predicted_gain(const Eigen::VectorXd& step, double damping) const {
    return -gradient_.dot(step) + damping * step.squaredNorm();
  }

 private:
  static Eigen::Vector2d residual(const Eigen::VectorXd& x) {
    return {10.0 * (x(1) - x(0) * x(0)), 1.0 - x(0)};
  }

  Eigen::Matrix2d matrix_;
  Eigen::Vector2d gradient_;
};

TEST(LevenbergMarquardt, NielsenRuleReachesTheMinimumOfAValley) {
  Rosenbrock valley;
  NielsenRule rule(1e-12, [&](const Eigen::VectorXd& step, double damping) {
    return valley.predicted_gain(step, damping);
  });
  Eigen::VectorXd x = Eigen::Vector2d(-1.2, 1.0);
  const auto fit = levenberg_marquardt(valley, rule, 200, x);
  EXPECT_NEAR(x(0), 1.0, 1e-6);
  EXPECT_NEAR(x(1), 1.0, 1e-6);
  EXPECT_LT(fit.cost, 1e-12);
  EXPECT_LT(fit.iterations, 200);
}

TEST(LevenbergMarquardt, FixedFactorRuleReachesTheMinimumOfAValley) {
  Rosenbrock valley;
  FixedFactorRule rule(1e-12);
  Eigen::VectorXd x = Eigen::Vector2d(-1.2, 1.0);
  const auto fit = levenberg_marquardt(valley, rule, 200, x);
  EXPECT_NEAR(x(0), 1.0, 1e-6);
  EXPECT_NEAR(x(1), 1.0, 1e-6);
  EXPECT_LT(fit.cost, 1e-12);
  EXPECT_LT(fit.iterations, 200);
}

TEST(LevenbergMarquardt, StopsAfterTheGivenNumberOfSteps) {
  Rosenbrock valley;
  FixedFactorRule rule(1e-12);
  Eigen::VectorXd x = Eigen::Vector2d(-1.2, 1.0);
  const auto fit = levenberg_marquardt(valley, rule, 2, x);
  EXPECT_EQ(fit.iterations, 2);
  EXPECT_LT(fit.cost, 24.2);  // the cost at the start
  EXPECT_GT(fit.cost, 1e-3);
  EXPECT_DOUBLE_EQ(fit.cost, valley.cost(x));
}

// A cost that is not a number off the start.
class Cliff final : public LeastSquaresProblem {
 public:
  [[nodiscard]] double cost(const Eigen::VectorXd& x) override {
    return x(0) == 3.0 ? 1.0 : std::nan("");
  }
  void linearise(const Eigen::VectorXd& /*x*/) override {}
  [[nodiscard]] std::optional<Eigen::VectorXd> step(double damping) const override {
    return Eigen::VectorXd::Constant(1, 1.0 / (1.0 + damping));
  }
};

TEST(LevenbergMarquardt, StaysWhereEveryStepFails) {
  Cliff cliff;
  NielsenRule nielsen(1e-6, [](const Eigen::VectorXd&, double) { return 1.0; });
  FixedFactorRule fixed(1e-6);
  for (StepRule* rule : {static_cast<StepRule*>(&nielsen), static_cast<StepRule*>(&fixed)}) {
    Eigen::VectorXd x = Eigen::VectorXd::Constant(1, 3.0);
    EXPECT_EQ(levenberg_marquardt(cliff, *rule, 10, x).cost, 1.0);
    EXPECT_EQ(x(0), 3.0);
    EXPECT_TRUE(rule->exhausted());
  }
}

}  // namespace
}  // namespace carpool::learn
