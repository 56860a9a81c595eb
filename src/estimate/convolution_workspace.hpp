// What cuDNN allocates for the time of a convolution, told from the sizes of 320 single ones
// measured on an H200 (data/memory-collected/convolutions.jsonl.gz, PyTorch 2.11, cuDNN 9).
// Internal to estimate/.
//
// I, O, W: bytes of input, output and weight, channels rounded up to what tensor cores take (8 of
// 16 bits, 4 of 32); n: the batch.
//   tensor cores, contiguous images   I + O + W: copies with the channels last; none for 1 x 1
//   tensor cores, channels last       those of I and O whose channels had to be rounded up
//   strict fp32, contiguous           none forward, I + O backward
//   strict fp32, channels last        I + O: copies the other way round
//   one channel a group               none
// In 32 bits cuDNN may choose a transform of the whole image and of every filter instead, with P
// the power of two that holds image and kernel (at most 256), c and f channels of input and output:
//   (2 c f + n (c + f)) P (P / 2 + 1) 8 bytes
// When it will is not known; when it tries all (autotuning), it does.
#pragma once

#include <cstdint>

#include "core/described_job.hpp"
#include "estimate/convolution_geometry.hpp"

namespace carpool {

// 32 bits without TF32: no tensor cores.
[[nodiscard]] inline bool is_strict_fp32(const TrainingSetup& setup) {
  return setup.precision == Precision::Fp32 && !setup.tf32;
}

struct ConvolutionWorkspace {  // bytes
  std::int64_t forward = 0;
  std::int64_t input_gradient = 0;
  std::int64_t weight_gradient = 0;
};

[[nodiscard]] ConvolutionWorkspace usual_workspace(const ConvolutionGeometry& geometry,
                                                   const TrainingSetup& setup,
                                                   std::int64_t batch);
// That of the hungriest algorithm that needs no more than `limit`: cuDNN's next one is taken where
// the first does not fit.
[[nodiscard]] ConvolutionWorkspace largest_workspace(const ConvolutionGeometry& geometry,
                                                     const TrainingSetup& setup,
                                                     std::int64_t batch,
                                                     std::int64_t limit);

}  // namespace carpool
