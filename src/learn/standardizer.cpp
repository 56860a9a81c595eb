#include "learn/standardizer.hpp"

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "learn/stored.hpp"

namespace carpool::learn {

namespace {

// A deviation below this share of the mean is the rounding error of a constant column.
constexpr double kNoise = 1e-12;

}  // namespace

Standardizer Standardizer::of(const Eigen::MatrixXd& rows) {
  Standardizer result{.mean = rows.colwise().mean().transpose(),
                      .deviation = Eigen::VectorXd::Zero(rows.cols())};
  if (rows.rows() < 2) {
    return result;
  }
  const Eigen::RowVectorXd squares =
      (rows.rowwise() - result.mean.transpose()).colwise().squaredNorm();
  for (Eigen::Index column = 0; column < rows.cols(); ++column) {
    const double deviation = std::sqrt(squares(column) / static_cast<double>(rows.rows() - 1));
    if (deviation > kNoise * std::abs(result.mean(column))) {
      result.deviation(column) = deviation;
    }
  }
  return result;
}

Eigen::MatrixXd Standardizer::apply(const Eigen::MatrixXd& rows) const {
  Eigen::MatrixXd scaled = rows.rowwise() - mean.transpose();
  for (Eigen::Index column = 0; column < scaled.cols(); ++column) {
    if (deviation(column) > 0.0) {
      scaled.col(column) /= deviation(column);
    } else {
      scaled.col(column).setZero();
    }
  }
  return scaled;
}

nlohmann::json Standardizer::to_json() const {
  return {{"mean", stored_vector(mean)}, {"deviation", stored_vector(deviation)}};
}

Result<Standardizer> Standardizer::from_json(const nlohmann::json& stored) {
  auto mean = read_vector(stored, "mean");
  if (!mean) {
    return tl::unexpected(mean.error());
  }
  auto deviation = read_vector(stored, "deviation");
  if (!deviation) {
    return tl::unexpected(deviation.error());
  }
  if (deviation->size() != mean->size() || (deviation->array() < 0.0).any()) {
    return broken_entry("deviation", "one number of at least 0 for each mean");
  }
  return Standardizer{.mean = *std::move(mean), .deviation = *std::move(deviation)};
}

}  // namespace carpool::learn
