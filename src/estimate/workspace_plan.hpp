// The workspaces of a whole net. Internal to estimate/.
//
// A net takes the memory of its hungriest convolution, and of twenty that take much with a chance
// of one in twenty each, one will. So the convolutions are looked at together: from the hungriest
// on, the chance grows that one of those so far takes its larger workspace. The first at which it
// reaches the asked one is taken to do so, all others take what each is expected to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/described_job.hpp"
#include "estimate/convolution_choices.hpp"

namespace carpool {

struct WorkspaceQuestion {
  const ConvolutionChoices* choices = nullptr;  // null: by rule of thumb
  double chance = 0.5;                          // that a convolution takes more than planned
  std::int64_t limit = 0;                       // bytes; algorithms that need more are left out
};

// Of different convolutions, in their order.
[[nodiscard]] std::vector<PlannedWorkspace> plan_workspaces(
    std::span<const ConvolutionGeometry> convolutions,
    const TrainingSetup& setup,
    std::int64_t batch,
    const WorkspaceQuestion& question);

}  // namespace carpool
