// The lane of the policy `salus`: the best-effort process whose iteration runs. One word of the
// shared state holds the slot of its owner and until when it is taken, so that a process that was
// killed or stopped does not keep it.
#pragma once

#include <cstdint>

#include "interpose/gate/work.hpp"
#include "interpose/state/layout.hpp"

namespace carpool::interpose::gate {

struct Lane {
  bool taken = false;
  std::uint32_t slot = 0;  // of its owner
  Nanoseconds until = 0;
};

[[nodiscard]] Lane lane_of(const SharedState& state, Nanoseconds now);

// Takes it, or changes until when its owner has it. False: it is another's.
[[nodiscard]] bool take_lane(SharedState& state,
                             std::uint32_t slot,
                             Nanoseconds until,
                             Nanoseconds now);

// Its owner gives it back.
void leave_lane(SharedState& state, std::uint32_t slot);

// Removes what is left of a lane whose time is over, so that a look at the word tells that it is
// free.
void clear_lane(SharedState& state, Nanoseconds now);

}  // namespace carpool::interpose::gate
