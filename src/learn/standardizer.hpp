// Scales columns to mean 0 and standard deviation 1.
#pragma once

#include <Eigen/Core>
#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::learn {

struct Standardizer {
  Eigen::VectorXd mean;       // of each column
  Eigen::VectorXd deviation;  // sample standard deviation (n - 1); 0: constant column

  // Needs at least one row; a single row varies in no column.
  [[nodiscard]] static Standardizer of(const Eigen::MatrixXd& rows);

  // (value - mean) / deviation; 0 in constant columns.
  [[nodiscard]] Eigen::MatrixXd apply(const Eigen::MatrixXd& rows) const;

  [[nodiscard]] nlohmann::json to_json() const;
  [[nodiscard]] static Result<Standardizer> from_json(const nlohmann::json& stored);
};

}  // namespace carpool::learn
