#include "learn/linear.hpp"

#include <array>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "learn/cross_validation.hpp"
#include "learn/linalg.hpp"
#include "learn/stored.hpp"

namespace carpool::learn {

namespace {

constexpr std::size_t kRidgeFolds = 5;
constexpr std::array<double, 13> kPenalties = {
    1e-3, 3.16e-3, 1e-2, 3.16e-2, 1e-1, 0.316, 1.0, 3.16, 1e1, 31.6, 1e2, 3.16e2, 1e3};

// The intercept is not penalised, so subtracting the means from both sides removes it from the fit.
struct Centred {
  Eigen::RowVectorXd row_mean;
  double target_mean = 0.0;
  Eigen::MatrixXd rows;
  Eigen::VectorXd targets;
};

Centred centre(const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets) {
  Centred centred{
      .row_mean = rows.colwise().mean(), .target_mean = targets.mean(), .rows = {}, .targets = {}};
  centred.rows = rows.rowwise() - centred.row_mean;
  centred.targets = targets.array() - centred.target_mean;
  return centred;
}

std::unique_ptr<LinearRegressor> with_intercept(const Centred& centred,
                                                Eigen::VectorXd coefficients) {
  const double intercept = centred.target_mean - centred.row_mean.dot(coefficients);
  return std::make_unique<LinearRegressor>(std::move(coefficients), intercept);
}

}  // namespace

LinearRegressor::LinearRegressor(Eigen::VectorXd coefficients, double intercept)
    : coefficients_(std::move(coefficients)), intercept_(intercept) {}

Eigen::VectorXd LinearRegressor::predict(const Eigen::MatrixXd& rows) const {
  return (rows * coefficients_).array() + intercept_;
}

nlohmann::json LinearRegressor::to_json() const {
  return {
      {"kind", kKind}, {"coefficients", stored_vector(coefficients_)}, {"intercept", intercept_}};
}

Result<std::unique_ptr<Regressor>> LinearRegressor::from_json(const nlohmann::json& stored) {
  auto coefficients = read_vector(stored, "coefficients");
  if (!coefficients) {
    return tl::unexpected(coefficients.error());
  }
  const auto intercept = read_number(stored, "intercept");
  if (!intercept) {
    return tl::unexpected(intercept.error());
  }
  return std::make_unique<LinearRegressor>(*std::move(coefficients), *intercept);
}

std::unique_ptr<LinearRegressor> fit_least_squares(const Eigen::MatrixXd& rows,
                                                   const Eigen::VectorXd& targets) {
  const Centred centred = centre(rows, targets);
  return with_intercept(centred, least_squares(centred.rows, centred.targets));
}

std::unique_ptr<LinearRegressor> fit_ridge(const Eigen::MatrixXd& rows,
                                           const Eigen::VectorXd& targets,
                                           double penalty) {
  const Centred centred = centre(rows, targets);
  Eigen::MatrixXd normal = centred.rows.transpose() * centred.rows;
  normal.diagonal().array() += penalty;
  const auto solved = solve_positive_definite(normal, centred.rows.transpose() * centred.targets);
  // The matrix is singular where the columns are so large that the penalty is lost in rounding.
  return with_intercept(centred,
                        solved ? solved->solution : least_squares(centred.rows, centred.targets));
}

std::unique_ptr<LinearRegressor> fit_cross_validated_ridge(const Eigen::MatrixXd& rows,
                                                           const Eigen::VectorXd& targets) {
  const std::vector<FoldData> folds = fold_data(rows, targets, kRidgeFolds);
  double best_penalty = kPenalties.back();
  double best_error = std::numeric_limits<double>::infinity();
  for (const double penalty : kPenalties) {
    double error = 0.0;
    for (const FoldData& fold : folds) {
      const auto fitted = fit_ridge(fold.train_rows, fold.train_targets, penalty);
      error += (fitted->predict(fold.test_rows) - fold.test_targets).squaredNorm();
    }
    if (error < best_error) {
      best_error = error;
      best_penalty = penalty;
    }
  }
  return fit_ridge(rows, targets, best_penalty);
}

}  // namespace carpool::learn
