#include "base/text/json_integer.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool {
namespace {

using nlohmann::json;

template <class T>
std::optional<T> whole_number(const json& value) {
  if (value.is_boolean()) {
    return value.get<bool>() ? T{1} : T{0};
  }
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return std::in_range<T>(number) ? std::optional(static_cast<T>(number)) : std::nullopt;
  }
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    return std::in_range<T>(number) ? std::optional(static_cast<T>(number)) : std::nullopt;
  }
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    // The largest values of T are no doubles, their next power of two is.
    const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const double least = std::numeric_limits<T>::is_signed ? -above : 0.0;
    const bool fits = std::trunc(number) == number && number >= least && number < above;
    return fits ? std::optional(static_cast<T>(number)) : std::nullopt;
  }
  return std::nullopt;
}

template <class T>
T within(const json& value, T least, T most) {
  const std::optional<T> number = whole_number<T>(value);
  if (!number || *number < least || *number > most) {
    constexpr int kWrongType = 302;  // the library's number for it
    throw json::type_error::create(
        kWrongType,
        fmt::format(
            "expected a whole number from {} to {}, not {}", least, most, value.type_name()),
        &value);
  }
  return *number;
}

}  // namespace

std::int64_t signed_from(const json& value, std::int64_t least, std::int64_t most) {
  return within(value, least, most);
}

std::uint64_t unsigned_from(const json& value, std::uint64_t most) {
  return within(value, std::uint64_t{0}, most);
}

}  // namespace carpool
