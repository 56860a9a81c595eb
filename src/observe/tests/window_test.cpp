#include "observe/window.hpp"

#include <array>

#include <gtest/gtest.h>

namespace carpool::observe {
namespace {

TEST(SampleWindow, SaysNothingBeforeItIsFullAndForgetsTheOldest) {
  SampleWindow window(2, WindowSummary::Mean);
  window.add({.sm_active = 1.0});
  EXPECT_FALSE(window.pressure());
  window.add({.sm_active = 0.0, .dram_active = 0.4});
  ASSERT_TRUE(window.pressure());
  EXPECT_DOUBLE_EQ(window.pressure()->sm_active, 0.5);
  window.add({.sm_active = 0.0, .dram_active = 0.2});
  EXPECT_DOUBLE_EQ(window.pressure()->sm_active, 0.0);
  EXPECT_DOUBLE_EQ(window.pressure()->dram_active, 0.3);
}

TEST(Summarise, RiskWeighsMeanMedianHighEndAndLateSamples) {
  const std::array values{0.0, 0.0, 1.0};
  // Mean 1/3; median 0; p95 0.9 of the way between the last two; exponential with alpha 1/2: 0.5.
  EXPECT_NEAR(summarise(values, WindowSummary::Risk), 0.2 / 3 + 0.3 * 0.9 + 0.2 * 0.5, 1e-12);
  EXPECT_NEAR(summarise(values, WindowSummary::Mean), 1.0 / 3, 1e-12);
}

TEST(Summarise, OfOneValueIsThatValueEitherWay) {
  const std::array values{0.4};
  EXPECT_DOUBLE_EQ(summarise(values, WindowSummary::Mean), 0.4);
  EXPECT_DOUBLE_EQ(summarise(values, WindowSummary::Risk), 0.4);
}

}  // namespace
}  // namespace carpool::observe
