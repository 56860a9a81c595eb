#include "observe/window.hpp"

#include <array>

#include <gtest/gtest.h>

#include "core/window_score.hpp"

namespace carpool::observe {
namespace {

TEST(SampleWindow, IsEmptyBeforeItIsFullAndDropsTheOldestSample) {
  SampleWindow window(2, WindowSummary::Mean);
  window.add({.sm_active = 1.0}, 1.0);
  EXPECT_FALSE(window.pressure());
  window.add({.sm_active = 0.0, .dram_active = 0.4}, 1.0);
  ASSERT_TRUE(window.pressure());
  EXPECT_DOUBLE_EQ(window.pressure()->sm_active, 0.5);
  window.add({.sm_active = 0.0, .dram_active = 0.2}, 1.0);
  EXPECT_DOUBLE_EQ(window.pressure()->sm_active, 0.0);
  EXPECT_DOUBLE_EQ(window.pressure()->dram_active, 0.3);
}

TEST(Summarise, MeanAndRiskDifferWhereSamplesDo) {
  const std::array values{0.0, 0.0, 1.0};
  EXPECT_NEAR(summarise(values, WindowSummary::Mean), 1.0 / 3, 1e-12);
  EXPECT_EQ(summarise(values, WindowSummary::Risk), window_score(values));
  EXPECT_NE(summarise(values, WindowSummary::Risk), summarise(values, WindowSummary::Mean));
}

}  // namespace
}  // namespace carpool::observe
