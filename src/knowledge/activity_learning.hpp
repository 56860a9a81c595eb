// Learns the SM activity of workloads from samples of the GPU's counter.
#pragma once

#include "core/learner.hpp"
#include "knowledge/belief_store.hpp"
#include "knowledge/live_groups.hpp"

namespace carpool::knowledge {

// The counter of a GPU reads min(1, sum of activity * progress of the members). One sample a second
// is expected; a sample soon after a change of the group or after the start of a job is not used.
void learn_activity(BeliefStore& store, LiveGroup& group, const GroupSeen& seen);

}  // namespace carpool::knowledge
