// How a launch waits between two questions to the gate.
#pragma once

#include "interpose/gate/decision.hpp"

namespace carpool::interpose {

// No launch waits longer, whatever the shared state says.
inline constexpr gate::Nanoseconds kLongestHold = gate::kSecond;

struct HoldWait {
  gate::Nanoseconds held = 0;     // so far
  gate::Nanoseconds ends_in = 0;  // at the latest, unless something happens before
  // When enough work in flight is done, by means.
  gate::Nanoseconds work_ends_in = 0;
};

// Where the end of the wait can be told, the thread sleeps until shortly before, and then looks all
// the time. The end of a request cannot.
void pause_before_next(const gate::Decision& decision, const HoldWait& wait);

// Keeps the processor, because a sleep would take longer.
void spin_for(gate::Nanoseconds span);

}  // namespace carpool::interpose
