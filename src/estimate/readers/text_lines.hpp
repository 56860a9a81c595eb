// Helpers to read text that was written for people.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace carpool::estimate {

// Removes and returns the next line, without its end; nothing: no line left.
[[nodiscard]] inline std::optional<std::string_view> next_line(std::string_view& text) {
  if (text.empty()) {
    return std::nullopt;
  }
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

// "1,234" or "1234" at the start; nothing: no number, or one above 10^12.
[[nodiscard]] inline std::optional<std::int64_t> leading_number(std::string_view text) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  std::string digits;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      digits += c;
    } else if (c != ',' || digits.empty()) {
      break;
    }
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && !digits.empty() && value <= kMost ? std::optional(value)
                                                                   : std::nullopt;
}

[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

[[nodiscard]] inline bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Letters, digits and underscores at the start.
[[nodiscard]] inline std::string_view leading_name(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_name_character(text[length])) {
    ++length;
  }
  return text.substr(0, length);
}

}  // namespace carpool::estimate
