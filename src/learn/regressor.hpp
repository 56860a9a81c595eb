// The interface of this folder: a fitted function from a row of numbers to a number.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <Eigen/Core>
#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::learn {

// Fitted, immutable, thread-safe.
class Regressor {
 public:
  virtual ~Regressor() = default;

  // The name of its type in model files.
  [[nodiscard]] virtual std::string_view kind() const = 0;

  // Number of columns that predict() expects.
  [[nodiscard]] virtual Eigen::Index inputs() const = 0;

  // One value per row.
  [[nodiscard]] virtual Eigen::VectorXd predict(const Eigen::MatrixXd& rows) const = 0;

  [[nodiscard]] virtual nlohmann::json to_json() const = 0;
};

// Reads what to_json() of any regressor wrote. Anything else is a Corrupt error, never undefined
// behaviour.
[[nodiscard]] Result<std::unique_ptr<Regressor>> regressor_from_json(const nlohmann::json& stored);

// A fitting procedure: rows and their targets to a regressor.
using Fit = std::function<Result<std::unique_ptr<Regressor>>(const Eigen::MatrixXd& rows,
                                                             const Eigen::VectorXd& targets)>;

}  // namespace carpool::learn
