// Values of the query string of an address.
#pragma once

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/result.hpp"

namespace carpool::serve {

using ApiQuery = std::multimap<std::string, std::string>;

[[nodiscard]] inline std::optional<std::string> text_of(const ApiQuery& query, const char* key) {
  const auto found = query.find(key);
  return found == query.end() ? std::nullopt : std::optional(found->second);
}

// Not negative; empty: not given.
template <class T>
[[nodiscard]] Result<std::optional<T>> number_of(const ApiQuery& query, const char* key) {
  const auto text = text_of(query, key);
  if (!text) {
    return std::nullopt;
  }
  T value{};
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (problem != std::errc{} || end != text->data() + text->size() || !(value >= T{})) {
    return invalid_input(fmt::format("{}: \"{}\" is not a valid number", key, *text));
  }
  return std::optional<T>(value);
}

[[nodiscard]] inline bool flag_of(const ApiQuery& query, const char* key) {
  const auto text = text_of(query, key);
  return text && *text != "0" && *text != "false";
}

}  // namespace carpool::serve
