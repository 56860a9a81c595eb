// Learns what to assume of a workload's SM activity from its kernels, recorded for a few seconds.
#pragma once

#include "core/learner.hpp"
#include "knowledge/belief_store.hpp"
#include "knowledge/live_groups.hpp"

namespace carpool::knowledge {

// The first window of each workload counts. It takes the place of what is assumed of a workload
// that was never seen; what the GPU's counter tells, before and after, counts beside it.
void learn_windows(BeliefStore& store, LiveGroup& group, const GroupSeen& seen);

}  // namespace carpool::knowledge
