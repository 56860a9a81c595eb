// The rate of launches in a window.
#include "gpu/cupti/inject/window/launch_count.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace carpool {
namespace {

using gpu::inject::LaunchCount;

constexpr std::int64_t kMs = 1'000'000;

double per_second(const LaunchCount& count, std::int64_t now_ns) {
  const LaunchCount::Counted counted = count.until(now_ns);
  return static_cast<double>(counted.launches) * 1e9 / static_cast<double>(counted.over_ns);
}

// Steps of one burst of launches each.
void steps(LaunchCount& count, std::int64_t first, std::int64_t period, std::int64_t until) {
  constexpr int kLaunches = 100;
  for (std::int64_t at = first; at < until; at += period) {
    for (std::int64_t i = 0; i < kLaunches && at + i * 1000 < until; ++i) {
      count.launch(at + i * 1000);
    }
  }
}

TEST(LaunchCount, CountsEvenLaunchesOverTheWholeWindow) {
  LaunchCount count;
  count.begin(0);
  for (std::int64_t at = 0; at < 1500 * kMs; at += kMs) {
    count.launch(at);
  }
  EXPECT_EQ(count.until(1500 * kMs).over_ns, 1500 * kMs);
  EXPECT_NEAR(per_second(count, 1500 * kMs), 1000.0, 1.0);
  EXPECT_FALSE(count.is_coarse(1500 * kMs));
}

TEST(LaunchCount, CountsBurstsOverWholePeriodsWhereverTheWindowBegins) {
  for (std::int64_t phase = 0; phase < 300; phase += 50) {
    LaunchCount count;
    count.begin(0);
    steps(count, phase * kMs, 300 * kMs, 1500 * kMs);
    EXPECT_NEAR(per_second(count, 1500 * kMs), 100 / 0.3, 0.5) << phase;
    EXPECT_FALSE(count.is_coarse(1500 * kMs)) << phase;
  }
}

TEST(LaunchCount, AsksForMoreTimeWhileThereAreTooFewBursts) {
  LaunchCount count;
  count.begin(0);
  steps(count, 600 * kMs, 1000 * kMs, 1700 * kMs);
  EXPECT_TRUE(count.is_coarse(1700 * kMs));
  steps(count, 2600 * kMs, 1000 * kMs, 4000 * kMs);
  EXPECT_FALSE(count.is_coarse(4000 * kMs));
  EXPECT_NEAR(per_second(count, 4000 * kMs), 100.0, 0.5);
}

TEST(LaunchCount, ShortGapsDivideNoPeriod) {
  LaunchCount count;
  count.begin(0);
  // Each period: a burst, 5 ms, a burst, 95 ms.
  for (std::int64_t at = 20 * kMs; at < 1500 * kMs; at += 100 * kMs) {
    steps(count, at, kMs * 1000, at + kMs);
    steps(count, at + 5 * kMs, kMs * 1000, at + 6 * kMs);
  }
  EXPECT_NEAR(per_second(count, 1500 * kMs), 2000.0, 1.0);
}

TEST(LaunchCount, AFewGapsInOnePartOfTheWindowDoNotStandForTheRest) {
  LaunchCount count;
  count.begin(0);
  for (std::int64_t at = 0; at < 1500 * kMs; at += kMs) {
    if (at < 100 * kMs || at >= 104 * kMs) {
      count.launch(at);
    }
    at += at == 150 * kMs ? 5 * kMs : 0;
  }
  EXPECT_EQ(count.until(1500 * kMs).over_ns, 1500 * kMs);
  EXPECT_FALSE(count.is_coarse(1500 * kMs));
}

TEST(LaunchCount, ANewWindowBeginsFromNothing) {
  LaunchCount count;
  count.begin(0);
  steps(count, 0, 100 * kMs, 1000 * kMs);
  count.begin(2000 * kMs);
  EXPECT_EQ(count.until(3000 * kMs).launches, 0U);
  EXPECT_EQ(count.until(3000 * kMs).over_ns, 1000 * kMs);
}

}  // namespace
}  // namespace carpool
