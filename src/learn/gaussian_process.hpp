// Gaussian process regression with a squared-exponential kernel.
#pragma once

#include <memory>
#include <optional>

#include "learn/regressor.hpp"

namespace carpool::learn {

// k(a, b) = amplitude² (exp(-|a - b|² / (2 length²)) + noise [a = b]).
struct GaussianKernel {
  double amplitude = 1.0;
  double length = 1.0;
  double noise = 0.1;  // variance of the noise relative to that of the function
};

class GaussianProcess final : public Regressor {
 public:
  GaussianProcess(Eigen::MatrixXd rows, Eigen::VectorXd weights, double mean, double length);

  [[nodiscard]] std::string_view kind() const override { return kKind; }
  [[nodiscard]] Eigen::Index inputs() const override { return rows_.cols(); }
  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& rows) const override;
  [[nodiscard]] nlohmann::json to_json() const override;
  [[nodiscard]] static Result<std::unique_ptr<Regressor>> from_json(const nlohmann::json& stored);

  static constexpr std::string_view kKind = "gaussian-process";

 private:
  Eigen::MatrixXd rows_;     // trained on
  Eigen::VectorXd weights_;  // mean + Σ weight_i exp(-|x - row_i|² / (2 length²))
  double mean_;
  double length_;
};

// Logarithm of the density of the targets minus their mean; nothing: the kernel matrix is singular.
[[nodiscard]] std::optional<double> log_marginal_likelihood(const Eigen::MatrixXd& rows,
                                                            const Eigen::VectorXd& targets,
                                                            const GaussianKernel& kernel);

// The most likely kernel of a grid of lengths (0.25 … 4 times √columns) and noises (0.001 … 1),
// each with its most likely amplitude, which has a closed form. Needs at least one row.
[[nodiscard]] GaussianKernel most_likely_kernel(const Eigen::MatrixXd& rows,
                                                const Eigen::VectorXd& targets);

[[nodiscard]] Result<std::unique_ptr<Regressor>> fit_gaussian_process(
    const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets);

}  // namespace carpool::learn
