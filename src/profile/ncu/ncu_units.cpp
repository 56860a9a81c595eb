#include "profile/ncu/ncu_units.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "dataset/csv.hpp"

namespace carpool::profile {
namespace {

using Scale = std::pair<std::string_view, double>;

// Prefixes of ncu are powers of 1000, for bytes too.
constexpr std::array<Scale, 9> kPrefixes = {{{"", 1.0},
                                             {"n", 1e-9},
                                             {"u", 1e-6},
                                             {"m", 1e-3},
                                             {"K", 1e3},
                                             {"k", 1e3},
                                             {"M", 1e6},
                                             {"G", 1e9},
                                             {"T", 1e12}}};

constexpr std::array<std::string_view, 12> kUnits = {
    "%", "s", "second", "sec", "byte", "register", "thread", "block", "warp", "cycle", "inst", "B"};

}  // namespace

std::optional<double> parse_ncu_number(std::string_view text) {
  std::string digits(text);
  std::erase(digits, ',');
  return dataset::parse_number(digits);
}

std::optional<double> ncu_unit_scale(std::string_view unit) {
  unit = unit.substr(0, unit.find('/'));  // "/block", "/thread"
  if (unit.empty()) {
    return 1.0;
  }
  for (const auto& [prefix, scale] : kPrefixes) {
    if (unit.starts_with(prefix) &&
        std::find(kUnits.begin(), kUnits.end(), unit.substr(prefix.size())) != kUnits.end()) {
      return scale;
    }
  }
  return std::nullopt;
}

}  // namespace carpool::profile
