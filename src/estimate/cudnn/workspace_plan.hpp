// The workspaces of a whole net. Internal to estimate/.
//
// A net takes the memory of its hungriest convolution, and of twenty that take much with a chance
// of one in twenty each, one will. So the convolutions are looked at together: the chances of each
// give those of the largest workspace of all, m. Planned is one value T of it; every convolution
// takes what is likeliest for it, or less where that is more than T, and one takes T:
//   what is expected   the T with the least mean of |T - m| / (A + m), A being what the job needs
//                      beside: the weighted median
//   a small chance     the least T that m exceeds with no more than this chance
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/described_job.hpp"
#include "estimate/cudnn/convolution_choices.hpp"

namespace carpool::estimate {

struct WorkspaceRequest {
  const ConvolutionChoices* choices = nullptr;  // null: by rule of thumb
  double chance = 0.0;       // that the largest one is exceeded; 0: what is expected
  std::int64_t limit = 0;    // bytes; algorithms that need more are left out
  double other_bytes = 0.0;  // bytes that the job needs beside, about
};

// Of different convolutions, in their order.
[[nodiscard]] std::vector<PlannedWorkspace> plan_workspaces(
    std::span<const ConvolutionGeometry> convolutions,
    const TrainingSetup& setup,
    std::int64_t batch,
    const WorkspaceRequest& request);

}  // namespace carpool::estimate
