// Learns from the latencies that jobs with an SLO report.
#pragma once

#include "core/learner.hpp"
#include "knowledge/belief_store.hpp"
#include "knowledge/live_groups.hpp"

namespace carpool::knowledge {

void learn_latencies(BeliefStore& store, LiveGroup& group, const GroupSeen& seen);

}  // namespace carpool::knowledge
