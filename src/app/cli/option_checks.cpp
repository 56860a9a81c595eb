#include "app/cli/option_checks.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace carpool::app {
namespace {

std::string complain(const std::string& text, const std::string& expected) {
  return fmt::format("\"{}\" is not {}", text, expected);
}

// Finite numbers alone: NaN passes the library's own ranges.
CLI::Validator number_where(std::function<bool(double)> holds, std::string expected) {
  return {[holds = std::move(holds), expected = std::move(expected)](const std::string& text) {
            double value = 0.0;
            const bool read = CLI::detail::lexical_cast(text, value);
            return read && std::isfinite(value) && holds(value) ? std::string()
                                                                : complain(text, expected);
          },
          ""};
}

}  // namespace

// The library wraps a negative count and saturates a huge one; both are mistakes.
CLI::Validator whole_number() {
  return {[](const std::string& text) {
            std::uint64_t value = 0;
            const char* end = text.data() + text.size();
            const auto [stopped, code] = std::from_chars(text.data(), end, value);
            return code == std::errc() && stopped == end ? std::string()
                                                         : complain(text, "a whole number");
          },
          ""};
}

CLI::Validator share_of_one() {
  return number_where([](double value) { return value >= 0.0 && value <= 1.0; },
                      "a number from 0 to 1");
}

CLI::Validator confidence() {
  constexpr double kLeast = 0.5;
  constexpr double kMost = 0.999;
  return number_where([](double value) { return value >= kLeast && value <= kMost; },
                      fmt::format("a number from {} to {}", kLeast, kMost));
}

CLI::Validator above_zero() {
  return number_where([](double value) { return value > 0.0; }, "a number above 0");
}

CLI::Validator seconds_from(double least) {
  constexpr double kYear = 365.0 * 24.0 * 3600.0;
  return number_where([least](double value) { return value >= least && value <= kYear; },
                      fmt::format("a number of seconds, at least {}", least));
}

}  // namespace carpool::app
