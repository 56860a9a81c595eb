// The functions behind the table of policies (gate/policy.cpp).
#pragma once

#include "interpose/gate/policy.hpp"

namespace carpool::interpose::gate {

// A kernel longer than this part of the SLO would spoil a request that comes while it runs.
inline constexpr Nanoseconds kLongPartOfSlo = 4;

#define CARPOOL_DECIDE(NAME) \
  [[nodiscard]] Decision NAME(const GateView&, const PolicyMemory&, const Work&, Nanoseconds)
CARPOOL_DECIDE(decide_spacetime);
CARPOOL_DECIDE(decide_time);
CARPOOL_DECIDE(decide_priority);
CARPOOL_DECIDE(decide_orion);
CARPOOL_DECIDE(decide_reef_n);
CARPOOL_DECIDE(decide_xsched_lv1);
CARPOOL_DECIDE(decide_antman);
CARPOOL_DECIDE(decide_tgs);
CARPOOL_DECIDE(decide_hami);
CARPOOL_DECIDE(decide_salus);
#undef CARPOOL_DECIDE

void observe_tgs(PolicyMemory& memory, const DeviceFacts& device, const Event& event);
void observe_hami(PolicyMemory& memory, const DeviceFacts& device, const Event& event);
void observe_salus(PolicyMemory& memory, const DeviceFacts& device, const Event& event);

}  // namespace carpool::interpose::gate
