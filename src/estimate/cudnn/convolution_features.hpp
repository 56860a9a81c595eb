// What the error of the replay on convolutional nets depends on: sizes of their convolutions, for
// the trees of the correction. Internal to estimate/.
#pragma once

#include <cstddef>

#include "estimate/bound/carpool_estimator.hpp"

namespace carpool::estimate {

inline constexpr std::size_t kConvolutionFeatures = 16;

// Facts by all workspace factors and, where there are convolutions, their features.
[[nodiscard]] Result<JobFacts> facts_with_features(const DescribedJob& job,
                                                   const ConvolutionChoices* convolutions);

}  // namespace carpool::estimate
