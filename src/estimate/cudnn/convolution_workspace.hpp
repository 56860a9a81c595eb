// Memory that cuDNN allocates during a convolution. Internal to estimate/.
#pragma once

#include <cstdint>

#include "core/described_job.hpp"
#include "estimate/cudnn/convolution_geometry.hpp"
#include "estimate/cudnn/workspace_formula.hpp"

namespace carpool::estimate {

struct ConvolutionWorkspace {  // bytes
  std::int64_t forward = 0;
  std::int64_t input_gradient = 0;
  std::int64_t weight_gradient = 0;
};

struct PlannedWorkspace {
  // In the first call, with autotuning, while all algorithms are tried.
  ConvolutionWorkspace tried{};
  ConvolutionWorkspace used{};
};

// Rule of thumb for machines without measured convolutions:
//   tensor cores, contiguous images   I + O + W: copies with the channels last; none for 1 x 1
//   tensor cores, channels last       those of I and O whose channels are rounded up
//   strict fp32, contiguous           none forward, I + O backward
//   strict fp32, channels last        I + O: copies the other way round
//   one channel per group             none
[[nodiscard]] ConvolutionWorkspace usual_workspace(const ConvolutionGeometry& geometry,
                                                   const TrainingSetup& setup,
                                                   std::int64_t batch);

}  // namespace carpool::estimate
