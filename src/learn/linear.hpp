// Linear functions: least squares and ridge regression.
#pragma once

#include <memory>

#include "learn/regressor.hpp"

namespace carpool::learn {

class LinearRegressor final : public Regressor {
 public:
  LinearRegressor(Eigen::VectorXd coefficients, double intercept);

  [[nodiscard]] const Eigen::VectorXd& coefficients() const { return coefficients_; }
  [[nodiscard]] double intercept() const { return intercept_; }

  [[nodiscard]] std::string_view kind() const override { return kKind; }
  [[nodiscard]] Eigen::Index inputs() const override { return coefficients_.size(); }
  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& rows) const override;
  [[nodiscard]] nlohmann::json to_json() const override;
  [[nodiscard]] static Result<std::unique_ptr<Regressor>> from_json(const nlohmann::json& stored);

  static constexpr std::string_view kKind = "linear";

 private:
  Eigen::VectorXd coefficients_;
  double intercept_;
};

// Ordinary least squares with intercept; the coefficients of least norm where they are not unique.
[[nodiscard]] std::unique_ptr<LinearRegressor> fit_least_squares(const Eigen::MatrixXd& rows,
                                                                 const Eigen::VectorXd& targets);

// Minimises |rows w + intercept - targets|² + penalty |w|², penalty > 0.
[[nodiscard]] std::unique_ptr<LinearRegressor> fit_ridge(const Eigen::MatrixXd& rows,
                                                         const Eigen::VectorXd& targets,
                                                         double penalty);

// Ridge with the penalty of 10^-3 … 10^3 that has the least squared error over 5 folds.
[[nodiscard]] std::unique_ptr<LinearRegressor> fit_cross_validated_ridge(
    const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets);

}  // namespace carpool::learn
