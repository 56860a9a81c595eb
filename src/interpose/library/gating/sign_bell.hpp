// Wakes the threads of best-effort processes that open and close gates when an SLO client shows a
// sign after it was silent: a request may begin. Processes share it.
#pragma once

#include <cstdint>

#include "interpose/gate/work.hpp"
#include "interpose/state/layout.hpp"

namespace carpool::interpose {

// Asks the system only if a thread sleeps. One that was killed in its sleep counts for ever, and
// costs that question.
void ring_bell(SharedState& state);

// How often it rang.
[[nodiscard]] std::uint32_t bell_count(const SharedState& state);

// Sleeps until it rings, or for this long at most; not at all if it has rung since `seen` was
// counted.
void sleep_until_bell(SharedState& state, std::uint32_t seen, gate::Nanoseconds span);

}  // namespace carpool::interpose
