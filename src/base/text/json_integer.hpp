// Integers of JSON from outside. The library's get<int>() wraps what is too large and is undefined
// for reals that are; this throws the library's exception instead.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include <nlohmann/json_fwd.hpp>

namespace carpool {

// json::type_error unless the value is a whole number (or a boolean, as 0 or 1) within the bounds.
[[nodiscard]] std::int64_t signed_from(const nlohmann::json& value,
                                       std::int64_t least,
                                       std::int64_t most);
[[nodiscard]] std::uint64_t unsigned_from(const nlohmann::json& value, std::uint64_t most);

template <std::integral T>
[[nodiscard]] T integer_from(const nlohmann::json& value) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::signed_integral<T>) {
    return static_cast<T>(signed_from(value, Limits::min(), Limits::max()));
  } else {
    return static_cast<T>(unsigned_from(value, Limits::max()));
  }
}

}  // namespace carpool
