#include "base/text/memory_size.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace carpool {
namespace {

constexpr std::string_view kUnits = "KMGT";
constexpr double kMost = 1e18;  // fits into 64 bits

// The factor of the unit after the number; 0: unknown unit.
double factor_of(std::string unit) {
  for (char& c : unit) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  if (unit == "B") {
    return 1.0;
  }
  const std::size_t power = kUnits.find(unit.front());
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "B" && rest != "IB")) {
    return 0.0;
  }
  return std::pow(1024.0, static_cast<double>(power + 1));
}

}  // namespace

Result<std::uint64_t> parse_memory_size(std::string_view text) {
  double number = 0.0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  while (!unit.empty() && unit.front() == ' ') {
    unit.remove_prefix(1);
  }
  if (problem == std::errc() && unit.empty() && number > 0.0 && number <= kMost) {
    return invalid_input(
        fmt::format("{0} has no unit; write {0}G for {0} GiB or {0}M for {0} MiB", text));
  }
  const double bytes =
      problem == std::errc() && !unit.empty() ? number * factor_of(std::string(unit)) : 0.0;
  if (!(bytes >= 1.0 && bytes <= kMost)) {
    return invalid_input(fmt::format("\"{}\" is not a memory size; write 12G or 512M", text));
  }
  return static_cast<std::uint64_t>(bytes);
}

std::string gib_text(std::uint64_t bytes) {
  const double gib = static_cast<double>(bytes) / static_cast<double>(kGiB);
  const bool whole = std::abs(gib - std::round(gib)) < 0.05;
  return whole ? fmt::format("{:.0f} GiB", gib) : fmt::format("{:.1f} GiB", gib);
}

}  // namespace carpool
