// The workspaces of a whole net. Internal to estimate/.
//
// The peak of a net depends on its largest workspace, m. Of twenty convolutions that each have a
// large workspace with probability 1/20, one will probably have it, so the distribution of m is
// computed from all convolutions together. The plan fixes a value T of m: each convolution has its
// most probable workspace, or a smaller one where that exceeds T, and one has T.
//   expected value      T minimises the mean of |T - m| / (A + m), where A is the memory of the job
//                       without workspaces: a weighted median
//   small probability   T is the smallest value that m exceeds with at most this probability
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/described_job.hpp"
#include "estimate/cudnn/convolution_choices.hpp"

namespace carpool::estimate {

struct WorkspaceRequest {
  const ConvolutionChoices* choices = nullptr;  // nullptr: by rule of thumb
  double chance = 0.0;       // of exceeding the largest workspace; 0: expected value
  std::int64_t limit = 0;    // bytes; algorithms that need more are excluded
  double other_bytes = 0.0;  // of the job without workspaces, about
};

// In the order of the convolutions, which must be distinct.
[[nodiscard]] std::vector<PlannedWorkspace> plan_workspaces(
    std::span<const ConvolutionGeometry> convolutions,
    const TrainingSetup& setup,
    std::int64_t batch,
    const WorkspaceRequest& request);

}  // namespace carpool::estimate
