// What cuDNN allocates for the time of a convolution. Internal to estimate/.
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
  // The first time where all algorithms are tried (autotuning), which need not be so many bytes.
  ConvolutionWorkspace tried{};
  ConvolutionWorkspace used{};
};

// By rule of thumb, where no convolutions of the machine were measured:
//   tensor cores, contiguous images   I + O + W: copies with the channels last; none for 1 x 1
//   tensor cores, channels last       those of I and O whose channels had to be rounded up
//   strict fp32, contiguous           none forward, I + O backward
//   strict fp32, channels last        I + O: copies the other way round
//   one channel a group               none
[[nodiscard]] ConvolutionWorkspace usual_workspace(const ConvolutionGeometry& geometry,
                                                   const TrainingSetup& setup,
                                                   std::int64_t batch);

}  // namespace carpool::estimate
