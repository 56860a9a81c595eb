// Recurrence of the events of one id. Internal to profile/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace carpool::profile {

// After each `per_period` occurrences the sequence has advanced by `period` events.
struct Recurrence {
  std::uint32_t id = 0;
  std::size_t per_period = 1;
  double period = 0.0;
  double agreement = 0.0;  // share of the occurrences for which this holds
};

// At most two: the distance between neighbours if most distances agree, and the distance over which
// the others agree too. Positions ascend.
[[nodiscard]] std::vector<Recurrence> recurrences(std::uint32_t id,
                                                  std::span<const std::uint32_t> positions);

}  // namespace carpool::profile
