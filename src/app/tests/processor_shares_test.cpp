#include "app/server/processor_shares.hpp"

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

TEST(ProcessorShares, FourJobsOfEachGpuShareTheProcessors) {
  EXPECT_EQ(openmp_threads(16, 1), 4U);
  EXPECT_EQ(openmp_threads(192, 8), 6U);
  EXPECT_EQ(openmp_threads(128, 4), 8U);
}

TEST(ProcessorShares, EveryJobHasAThreadAndTwoMayStart) {
  EXPECT_EQ(openmp_threads(2, 8), 1U);
  EXPECT_EQ(openmp_threads(8, 0), 2U);
  EXPECT_EQ(most_starting(1), 2U);
}

TEST(ProcessorShares, HalfAsManyJobsStartAsThereAreProcessors) {
  EXPECT_EQ(most_starting(16), 8U);
  EXPECT_GE(usable_processors(), 1U);
}

}  // namespace
}  // namespace carpool::app
