// How values are written in tables and dataset.toml. Internal to measure/.
#pragma once

#include <optional>
#include <string>

namespace carpool::measure {

inline constexpr double kMilliseconds = 1000.0;  // of one second

// Seven digits: a window cannot tell more. Nothing is an empty cell.
[[nodiscard]] std::string digits(double value);
[[nodiscard]] std::string digits(const std::optional<double>& value);

// A cell of CSV, on one line.
[[nodiscard]] std::string quoted(const std::string& text);

[[nodiscard]] std::string toml_text(const std::string& text);

}  // namespace carpool::measure
