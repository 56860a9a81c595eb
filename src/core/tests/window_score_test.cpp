#include "core/window_score.hpp"

#include <array>

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(WindowScore, WeighsMeanMedianHighEndAndLateSamples) {
  const std::array rising{0.0, 0.0, 1.0};
  // Mean 1/3; median 0; p95 0.9 of the way between the last two; exponential with alpha 1/2: 0.5.
  EXPECT_NEAR(window_score(rising), 0.2 / 3 + 0.3 * 0.9 + 0.2 * 0.5, 1e-12);
  const std::array falling{1.0, 0.0, 0.0};
  // The same but for the exponential mean: 0.25.
  EXPECT_NEAR(window_score(falling), 0.2 / 3 + 0.3 * 0.9 + 0.2 * 0.25, 1e-12);
}

TEST(WindowScore, OfEqualSamplesIsTheirValueAndOfNoneZero) {
  EXPECT_DOUBLE_EQ(window_score(std::array{0.4}), 0.4);
  EXPECT_DOUBLE_EQ(window_score(std::array{0.4, 0.4, 0.4, 0.4}), 0.4);
  EXPECT_EQ(window_score({}), 0.0);
}

}  // namespace
}  // namespace carpool
