// What the error of the replay on convolutional nets depends on: sizes of their convolutions, for
// the trees of the correction. Internal to estimate/.
#pragma once

#include <vector>

#include "estimate/carpool_estimator.hpp"

namespace carpool {

inline constexpr std::size_t kConvolutionFeatures = 16;

[[nodiscard]] std::vector<double> convolution_features(const DescribedJob& job,
                                                       const JobFacts& facts);

}  // namespace carpool
