#include "learn/stored.hpp"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool::learn {

namespace {

// nullptr: no such entry, or not an object.
const nlohmann::json* entry(const nlohmann::json& object, std::string_view key) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

bool is_finite_number(const nlohmann::json& value) {
  return value.is_number() && std::isfinite(value.get<double>());
}

}  // namespace

tl::unexpected<Error> broken_entry(std::string_view key, std::string_view expected) {
  return fail(ErrorCode::Corrupt,
              fmt::format("model parameters: \"{}\" is missing or not {}", key, expected));
}

nlohmann::json stored_vector(const Eigen::VectorXd& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const double value : values) {
    list.push_back(value);
  }
  return list;
}

nlohmann::json stored_matrix(const Eigen::MatrixXd& values) {
  nlohmann::json list = nlohmann::json::array();
  for (Eigen::Index row = 0; row < values.rows(); ++row) {
    list.push_back(stored_vector(values.row(row).transpose()));
  }
  return list;
}

Result<double> read_number(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json* value = entry(object, key);
  if (value == nullptr || !is_finite_number(*value)) {
    return broken_entry(key, "a finite number");
  }
  return value->get<double>();
}

Result<std::size_t> read_count(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json* value = entry(object, key);
  if (value == nullptr || !value->is_number_integer() ||
      (!value->is_number_unsigned() && value->get<std::int64_t>() < 0)) {
    return broken_entry(key, "a whole number of at least 0");
  }
  return value->get<std::size_t>();
}

Result<Eigen::VectorXd> read_vector(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json* list = entry(object, key);
  if (list == nullptr || !list->is_array()) {
    return broken_entry(key, "a list of finite numbers");
  }
  Eigen::VectorXd values(static_cast<Eigen::Index>(list->size()));
  Eigen::Index position = 0;
  for (const nlohmann::json& value : *list) {
    if (!is_finite_number(value)) {
      return broken_entry(key, "a list of finite numbers");
    }
    values(position++) = value.get<double>();
  }
  return values;
}

Result<Eigen::MatrixXd> read_matrix(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json* list = entry(object, key);
  if (list == nullptr || !list->is_array() || list->empty() || !list->front().is_array() ||
      list->front().empty()) {
    return broken_entry(key, "a list of rows");
  }
  const std::size_t columns = list->front().size();
  Eigen::MatrixXd values(static_cast<Eigen::Index>(list->size()),
                         static_cast<Eigen::Index>(columns));
  for (Eigen::Index row = 0; row < values.rows(); ++row) {
    const nlohmann::json& cells = (*list)[static_cast<std::size_t>(row)];
    if (!cells.is_array() || cells.size() != columns) {
      return broken_entry(key, "a list of rows of equal length");
    }
    for (Eigen::Index column = 0; column < values.cols(); ++column) {
      const nlohmann::json& cell = cells[static_cast<std::size_t>(column)];
      if (!is_finite_number(cell)) {
        return broken_entry(key, "a list of rows of finite numbers");
      }
      values(row, column) = cell.get<double>();
    }
  }
  return values;
}

}  // namespace carpool::learn
