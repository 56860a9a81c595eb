// Text form of values in tables and dataset.toml. Internal to measure/.
#pragma once

#include <optional>
#include <string>

namespace carpool::measure {

inline constexpr double kMilliseconds = 1000.0;  // of one second

// Seven digits, more than a window can resolve. An absent value is an empty cell.
[[nodiscard]] std::string digits(double value);
[[nodiscard]] std::string digits(const std::optional<double>& value);

// A quoted CSV cell without line breaks.
[[nodiscard]] std::string quoted(const std::string& text);

[[nodiscard]] std::string toml_text(const std::string& text);

}  // namespace carpool::measure
