// Sizes of inputs where nobody said them.
#pragma once

#include <cstdint>

namespace carpool::estimate {

// Of ImageNet, on which nearly all networks that have a name are trained.
inline constexpr std::int64_t kUsualResolution = 224;
inline constexpr std::int64_t kUsualTokens = 512;

}  // namespace carpool::estimate
