// The seam of this folder: a fitted function from a row of numbers to a number.
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

  // The word by which a stored regressor is told from the others.
  [[nodiscard]] virtual std::string_view kind() const = 0;

  // How many columns predict() expects.
  [[nodiscard]] virtual Eigen::Index inputs() const = 0;

  // One value a row.
  [[nodiscard]] virtual Eigen::VectorXd predict(const Eigen::MatrixXd& rows) const = 0;

  [[nodiscard]] virtual nlohmann::json to_json() const = 0;
};

// What to_json() wrote, of any kind. Anything else is a Corrupt error, never undefined behaviour.
[[nodiscard]] Result<std::unique_ptr<Regressor>> regressor_from_json(const nlohmann::json& stored);

// A procedure that fits: rows and their targets in, regressor out.
using Fit = std::function<Result<std::unique_ptr<Regressor>>(const Eigen::MatrixXd& rows,
                                                             const Eigen::VectorXd& targets)>;

}  // namespace carpool::learn
