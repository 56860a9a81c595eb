#include "learn/gaussian_process.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include <nlohmann/json.hpp>

#include "learn/linalg.hpp"
#include "learn/stored.hpp"

namespace carpool::learn {

namespace {

// In units of √columns, with which the distance of two standardized rows grows.
constexpr std::array<double, 7> kLengths = {0.25, 0.4, 0.63, 1.0, 1.6, 2.5, 4.0};
constexpr std::array<double, 7> kNoises = {1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0};

Eigen::MatrixXd similarity(const Eigen::MatrixXd& left,
                           const Eigen::MatrixXd& right,
                           double length) {
  Eigen::MatrixXd squares = -2.0 * left * right.transpose();
  squares.colwise() += left.rowwise().squaredNorm();
  squares.rowwise() += right.rowwise().squaredNorm().transpose();
  // Rounding can make the distance of a row to itself slightly negative.
  return (squares.array().max(0.0) / (-2.0 * length * length)).exp();
}

std::optional<PositiveDefiniteSolution> solve(const Eigen::MatrixXd& similarities,
                                              double noise,
                                              const Eigen::VectorXd& centred) {
  Eigen::MatrixXd matrix = similarities;
  matrix.diagonal().array() += noise;
  return solve_positive_definite(matrix, centred);
}

// Density of n targets with variance amplitude² (similarities + noise): Rasmussen and Williams,
// Gaussian Processes for Machine Learning, equation 2.30. `fit` is targetsᵀ K⁻¹ targets at
// amplitude 1.
double log_density(double fit, double log_determinant, double amplitude, Eigen::Index targets) {
  const auto count = static_cast<double>(targets);
  const double variance = amplitude * amplitude;
  return -0.5 *
         (fit / variance + log_determinant + count * std::log(2.0 * std::numbers::pi * variance));
}

}  // namespace

GaussianProcess::GaussianProcess(Eigen::MatrixXd rows,
                                 Eigen::VectorXd weights,
                                 double mean,
                                 double length)
    : rows_(std::move(rows)), weights_(std::move(weights)), mean_(mean), length_(length) {}

Eigen::VectorXd GaussianProcess::predict(const Eigen::MatrixXd& rows) const {
  return (similarity(rows, rows_, length_) * weights_).array() + mean_;
}

nlohmann::json GaussianProcess::to_json() const {
  return {{"kind", kKind},
          {"rows", stored_matrix(rows_)},
          {"weights", stored_vector(weights_)},
          {"mean", mean_},
          {"length", length_}};
}

Result<std::unique_ptr<Regressor>> GaussianProcess::from_json(const nlohmann::json& stored) {
  auto rows = read_matrix(stored, "rows");
  if (!rows) {
    return tl::unexpected(rows.error());
  }
  auto weights = read_vector(stored, "weights");
  if (!weights || weights->size() != rows->rows()) {
    return broken_entry("weights", "one finite number for each of \"rows\"");
  }
  const auto mean = read_number(stored, "mean");
  const auto length = read_number(stored, "length");
  if (!mean || !length || !(*length > 0.0)) {
    return broken_entry("length", "a number above 0 with a finite \"mean\"");
  }
  return std::make_unique<GaussianProcess>(*std::move(rows), *std::move(weights), *mean, *length);
}

std::optional<double> log_marginal_likelihood(const Eigen::MatrixXd& rows,
                                              const Eigen::VectorXd& targets,
                                              const GaussianKernel& kernel) {
  const Eigen::VectorXd centred = targets.array() - targets.mean();
  const auto solved = solve(similarity(rows, rows, kernel.length), kernel.noise, centred);
  if (!solved) {
    return std::nullopt;
  }
  return log_density(
      centred.dot(solved->solution), solved->log_determinant, kernel.amplitude, targets.size());
}

GaussianKernel most_likely_kernel(const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets) {
  const Eigen::VectorXd centred = targets.array() - targets.mean();
  const double unit = std::sqrt(static_cast<double>(rows.cols()));
  GaussianKernel best{.amplitude = 1.0, .length = unit, .noise = kNoises.back()};
  double best_density = -std::numeric_limits<double>::infinity();
  for (const double factor : kLengths) {
    const Eigen::MatrixXd similarities = similarity(rows, rows, factor * unit);
    for (const double noise : kNoises) {
      const auto solved = solve(similarities, noise, centred);
      if (!solved) {
        continue;
      }
      const double fit = centred.dot(solved->solution);
      // The derivative of the density with respect to the variance is 0 there.
      const double amplitude = std::sqrt(fit / static_cast<double>(targets.size()));
      const double density = log_density(fit, solved->log_determinant, amplitude, targets.size());
      if (density > best_density) {
        best_density = density;
        best = {.amplitude = amplitude, .length = factor * unit, .noise = noise};
      }
    }
  }
  return best;
}

Result<std::unique_ptr<Regressor>> fit_gaussian_process(const Eigen::MatrixXd& rows,
                                                        const Eigen::VectorXd& targets) {
  const GaussianKernel kernel = most_likely_kernel(rows, targets);
  const double mean = targets.mean();
  const Eigen::VectorXd centred = targets.array() - mean;
  // The amplitude cancels in the prediction.
  const auto solved = solve(similarity(rows, rows, kernel.length), kernel.noise, centred);
  if (!solved) {
    return fail(ErrorCode::Internal, "Gaussian process: the kernel matrix is singular");
  }
  return std::make_unique<GaussianProcess>(rows, solved->solution, mean, kernel.length);
}

}  // namespace carpool::learn
