#include "profile/steps/step_times.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace carpool::profile {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::vector<std::int64_t> at_seconds(const std::vector<double>& seconds) {
  std::vector<std::int64_t> out;
  out.reserve(seconds.size());
  for (const double value : seconds) {
    out.push_back(static_cast<std::int64_t>(value * 1e9));
  }
  return out;
}

TEST(Window, CountsAStepThatCrossesAnEdgeByItsShareInside) {
  // 0.5 of the step that ends at 1, the whole one that ends at 3, a quarter of the one to 7.
  const auto ends = at_seconds({0.0, 1.0, 3.0, 7.0});
  const auto steps = steps_within(ends, kSecond / 2, 4 * kSecond);
  ASSERT_TRUE(steps.has_value());
  EXPECT_DOUBLE_EQ(steps->steps_per_second, (0.5 + 1.0 + 0.25) / 3.5);
  EXPECT_EQ(steps->steps, 2U);  // those at 1 and at 3
}

TEST(Window, EqualStepsGiveTheirRateWhereverTheEdgesLie) {
  const auto ends = at_seconds({0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5});
  for (const double from : {0.0, 0.1, 0.24, 0.25}) {
    const auto begin = static_cast<std::int64_t>(from * 1e9);
    const auto steps = steps_within(ends, begin, begin + kSecond * 12 / 10);
    ASSERT_TRUE(steps.has_value()) << from;
    EXPECT_NEAR(steps->steps_per_second, 4.0, 1e-9) << from;
  }
}

TEST(Window, TellsTheTimesBetweenEndsInsideIt) {
  const auto ends = at_seconds({0.0, 1.0, 3.0, 6.0, 10.0, 20.0});
  const auto steps = steps_within(ends, 0, 10 * kSecond);
  ASSERT_TRUE(steps.has_value());
  EXPECT_EQ(steps->steps, 4U);  // of 1, 2, 3 and 4 s
  EXPECT_DOUBLE_EQ(steps->p50, 2.5);
  EXPECT_DOUBLE_EQ(steps->p95, 3.85);
  EXPECT_DOUBLE_EQ(steps->p99, 3.97);
}

TEST(Window, OneStepLongerThanTheWindowHasALatencyAllTheSame) {
  const auto ends = at_seconds({0.0, 8.0});
  const auto steps = steps_within(ends, kSecond, 3 * kSecond);
  ASSERT_TRUE(steps.has_value());
  EXPECT_DOUBLE_EQ(steps->steps_per_second, 0.125);
  EXPECT_EQ(steps->steps, 0U);
  EXPECT_DOUBLE_EQ(steps->p99, 8.0);
}

TEST(Window, SaysNothingWhereAnEdgeIsNotCovered) {
  const auto ends = at_seconds({1.0, 2.0, 3.0});
  EXPECT_FALSE(steps_within(ends, kSecond - 1, 2 * kSecond).has_value());
  EXPECT_FALSE(steps_within(ends, kSecond, 3 * kSecond).has_value());  // none ended after it
  EXPECT_TRUE(steps_within(ends, kSecond, 3 * kSecond - 1).has_value());
  EXPECT_FALSE(steps_within(ends, 2 * kSecond, 2 * kSecond).has_value());
  EXPECT_FALSE(steps_within({}, 0, kSecond).has_value());
  EXPECT_FALSE(steps_within(at_seconds({0.0}), 0, kSecond).has_value());
}

TEST(Window, SaysNothingWhereTimesGoBackwards) {
  EXPECT_FALSE(steps_within(at_seconds({0.0, 2.0, 1.0, 4.0}), 0, 3 * kSecond).has_value());
}

// The workload writes them, and may write anything.
TEST(Window, TimesThatAreAsFarApartAsIntegersCanBeGiveFiniteSpeeds) {
  const std::vector<std::int64_t> ends = {
      std::numeric_limits<std::int64_t>::min(), kSecond, std::numeric_limits<std::int64_t>::max()};
  const auto steps = steps_within(ends, kSecond / 2, 2 * kSecond);
  ASSERT_TRUE(steps.has_value());
  EXPECT_GE(steps->steps_per_second, 0.0);
  EXPECT_LT(steps->steps_per_second, 1e-6);
}

}  // namespace
}  // namespace carpool::profile
