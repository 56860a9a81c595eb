// Learns how much workloads slow each other down from the measured speeds of their jobs.
#pragma once

#include <cstddef>

#include "core/learner.hpp"
#include "knowledge/belief_store.hpp"
#include "knowledge/live_groups.hpp"

namespace carpool::knowledge {

// ln(speed) is ln(solo speed) + ln(progress). Solo, the speed is learned; in a group the speed
// where it is not known, and what the law says of the members. Without a solo measurement the
// speeds before and after a change of the group teach what the change cost. Speeds over a time in
// which the group changed are not used.
void learn_speeds(BeliefStore& store, LiveGroup& group, const GroupSeen& seen);

}  // namespace carpool::knowledge
