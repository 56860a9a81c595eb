// What a change of the seating brings. Internal to place/.
#pragma once

#include <cmath>
#include <compare>

namespace carpool::assign {

// Further items placed decide, then the worth of the groups.
struct SeatingGain {
  int placed = 0;
  double worth = 0.0;

  [[nodiscard]] auto operator<=>(const SeatingGain&) const = default;

  // More than what rounding makes of a sum near `worth_before`.
  [[nodiscard]] bool helps(double worth_before) const {
    constexpr double kRounding = 1e-12;
    return placed > 0 || (placed == 0 && worth > kRounding * (1.0 + std::abs(worth_before)));
  }
};

}  // namespace carpool::assign
