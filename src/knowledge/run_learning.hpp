// Learns from runs that ended: run times, start-up times and memory peaks, for people to read.
#pragma once

#include "core/learner.hpp"
#include "knowledge/belief_store.hpp"

namespace carpool::knowledge {

void learn_run(BeliefStore& store, const RunSeen& run);

}  // namespace carpool::knowledge
