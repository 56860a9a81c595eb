// What is believed, for people.
#pragma once

#include <vector>

#include "knowledge/belief_store.hpp"
#include "knowledge/beliefs.hpp"

namespace carpool::knowledge {

[[nodiscard]] WorkloadBelief belief_of(const BeliefStore& store, const WorkloadState& workload);
[[nodiscard]] std::vector<Beliefs::Row> belief_rows(const BeliefStore& store);

}  // namespace carpool::knowledge
