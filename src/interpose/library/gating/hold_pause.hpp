// How a launch waits between two questions to the gate.
#pragma once

#include "interpose/gate/decision.hpp"

namespace carpool::interpose {

// `held`: so far. `work_ends_in`: when enough work in flight is done, by means; that can be told,
// so the thread sleeps until shortly before, and then looks all the time. The end of a request
// cannot.
void pause_before_next(const gate::Decision& decision,
                       gate::Nanoseconds held,
                       gate::Nanoseconds work_ends_in);

}  // namespace carpool::interpose
