#include "serve/json_line.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace carpool::serve {

void JsonLine::begin(std::string_view key) {
  if (!first_) {
    out_ += ',';
  }
  first_ = false;
  out_ += '"';
  out_ += key;
  out_ += "\":";
}

void JsonLine::add(std::string_view key, std::string_view text) {
  begin(key);
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
  if (plain) {
    out_ += '"';
    out_ += text;
    out_ += '"';
  } else {
    out_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

void JsonLine::add(std::string_view key, std::int64_t number) {
  begin(key);
  fmt::format_to(std::back_inserter(out_), "{}", number);
}

void JsonLine::add(std::string_view key, std::uint64_t number) {
  begin(key);
  fmt::format_to(std::back_inserter(out_), "{}", number);
}

void JsonLine::add(std::string_view key, double number) {
  begin(key);
  if (std::isfinite(number)) {
    fmt::format_to(std::back_inserter(out_), "{:.3f}", number);
  } else {
    out_ += "null";
  }
}

void JsonLine::add(std::string_view key, const std::vector<unsigned>& numbers) {
  begin(key);
  fmt::format_to(std::back_inserter(out_), "[{}]", fmt::join(numbers, ","));
}

}  // namespace carpool::serve
