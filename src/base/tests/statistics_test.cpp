#include "base/statistics.hpp"

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(Statistics, AQuantileIsLinearBetweenTheTwoNearestRanks) {
  EXPECT_DOUBLE_EQ(quantile({4.0, 1.0, 3.0, 2.0}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({4.0, 1.0, 3.0, 2.0}, 0.95), 3.85);
  EXPECT_DOUBLE_EQ(quantile({4.0, 1.0, 3.0, 2.0}, 1.0), 4.0);
  EXPECT_DOUBLE_EQ(quantile({7.0}, 0.3), 7.0);
}

TEST(Statistics, TheMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_DOUBLE_EQ(median({9.0, 1.0, 5.0}), 5.0);
  EXPECT_DOUBLE_EQ(median({9.0, 1.0, 5.0, 4.0}), 4.5);
  EXPECT_DOUBLE_EQ(median({2.0}), 2.0);
}

TEST(Statistics, TheConformalIndexLeavesRoomForOneMoreValue) {
  EXPECT_EQ(conformal_index(9, 0.9), 8U);    // rank 9 of 9
  EXPECT_EQ(conformal_index(19, 0.9), 17U);  // rank 18 of 19
  EXPECT_EQ(conformal_index(3, 0.9), 2U);    // rank 4 does not exist: the last
  EXPECT_EQ(conformal_index(5, 0.0), 0U);
}

}  // namespace
}  // namespace carpool
