#include "base/clock.hpp"

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(ThreadStopwatch, CountsWhatTheThreadComputes) {
  const ThreadStopwatch computed;
  const Stopwatch passed;
  pause_for(std::chrono::milliseconds(60));
  EXPECT_LT(computed.seconds(), 0.05);
  EXPECT_GE(passed.seconds(), 0.06);
  const double before = computed.seconds();
  volatile double sum = 0.0;
  while (computed.seconds() < before + 0.01) {
    sum = sum + 1.0;
  }
  EXPECT_GT(sum, 0.0);
}

}  // namespace
}  // namespace carpool
