// How the events of one id come back. Internal to profile/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace carpool::profile {

// Every `per_period` occurrences the sequence has moved on by `period` events.
struct Recurrence {
  std::uint32_t id = 0;
  std::size_t per_period = 1;
  double period = 0.0;
  double agreement = 0.0;  // share of the occurrences for which that holds
};

// At most two: the distance between neighbours where most are alike, and the distance after which
// also the others are. Positions ascend.
[[nodiscard]] std::vector<Recurrence> recurrences(std::uint32_t id,
                                                  std::span<const std::uint32_t> positions);

}  // namespace carpool::profile
