// Numbers in the JSON of model files. A missing entry, a wrong type or a number that is not finite
// is a Corrupt error that names the entry.
#pragma once

#include <cstddef>
#include <string_view>

#include <Eigen/Core>
#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::learn {

[[nodiscard]] nlohmann::json stored_vector(const Eigen::VectorXd& values);
[[nodiscard]] nlohmann::json stored_matrix(const Eigen::MatrixXd& values);  // list of rows

[[nodiscard]] Result<double> read_number(const nlohmann::json& object, std::string_view key);
[[nodiscard]] Result<std::size_t> read_count(const nlohmann::json& object, std::string_view key);
[[nodiscard]] Result<Eigen::VectorXd> read_vector(const nlohmann::json& object,
                                                  std::string_view key);

// At least one row and one column.
[[nodiscard]] Result<Eigen::MatrixXd> read_matrix(const nlohmann::json& object,
                                                  std::string_view key);

// The error for a missing or wrong entry.
[[nodiscard]] tl::unexpected<Error> broken_entry(std::string_view key, std::string_view expected);

}  // namespace carpool::learn
