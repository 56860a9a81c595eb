// What a job that joins does to the latency targets on a GPU, in words.
#pragma once

#include <string>

#include "policy/group_speeds.hpp"
#include "policy/queue_pass.hpp"

namespace carpool::policy {

// "; predicted p99 13 ms (11 to 16 ms) of job 3" for each target that can be predicted.
[[nodiscard]] std::string latency_text(const GroupSpeeds& speeds,
                                       PlacementState& state,
                                       const PendingJob& job,
                                       const Slot& slot);

// Of a slot where a target would not be kept, or where a job with one whose latency cannot be
// predicted would fall below kSloFloor.
[[nodiscard]] Refusal refuse_for_slo(GroupSpeeds& speeds,
                                     PlacementState& state,
                                     const PendingJob& job,
                                     const Slot& slot);

}  // namespace carpool::policy
