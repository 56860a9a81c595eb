// Who computes and who stands still on each GPU: members are paused and resumed so that the sum of
// predicted progress is large and all members keep the floor (docs/placement.md, "Turns").
#pragma once

#include "policy/group_speeds.hpp"
#include "policy/placement_state.hpp"

namespace carpool::policy {

// Adds pauses, resumes and the time to ask again to the decision, and marks the residents that
// stand still in the state. Before any job is placed.
void decide_turns(const ClusterSnapshot& cluster,
                  const PolicySettings& settings,
                  PlacementState& state,
                  GroupSpeeds& speeds,
                  PlacementDecision& decision);

}  // namespace carpool::policy
