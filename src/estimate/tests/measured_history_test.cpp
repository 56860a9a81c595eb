#include "estimate/history/measured_history.hpp"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "base/text/memory_size.hpp"

namespace carpool::estimate {
namespace {

TEST(History, TheLargestPeakIsExpected) {
  const std::array peaks = {3 * kGiB, 4 * kGiB, 2 * kGiB};
  const auto estimate = estimate_from_history(peaks);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->expected, 4 * kGiB);
  EXPECT_EQ(estimate->upper, std::llround(1.02 * 4.0 * kGiB));
  EXPECT_EQ(estimate->breakdown.allocator_slack, 4 * kGiB);  // no breakdown is known
  const std::array small = {kGiB};
  EXPECT_EQ(estimate_from_history(small)->upper, kGiB + 40 * kMiB);
}

TEST(History, WithoutPeaksItIsNotFound) {
  EXPECT_EQ(estimate_from_history({}).error().code, ErrorCode::NotFound);
}

TEST(History, OtherBatchSizesAreFittedByALine) {
  const std::array peaks = {BatchPeak{8, 3 * kGiB}, BatchPeak{16, 5 * kGiB}};
  const auto between = estimate_from_batches(peaks, 12);
  const auto beyond = estimate_from_batches(peaks, 64);
  ASSERT_TRUE(between && beyond);
  EXPECT_EQ(between->expected, 4 * kGiB);
  EXPECT_EQ(beyond->expected, 17 * kGiB);
  const auto margin = [](const MemoryEstimate& estimate) {
    return static_cast<double>(estimate.upper) / static_cast<double>(estimate.expected);
  };
  EXPECT_NEAR(margin(*between), std::exp(0.3), 1e-6);
  EXPECT_NEAR(margin(*beyond), std::exp(0.3 + 2 * 0.1), 1e-6);  // two doublings from 16 to 64
}

TEST(History, AMeasuredBatchSizeNeedsNoLine) {
  const std::array peaks = {BatchPeak{8, 3 * kGiB}, BatchPeak{16, 5 * kGiB}};
  EXPECT_EQ(estimate_from_batches(peaks, 16)->basis, "history");
}

TEST(History, LargerBatchesNeverNeedLess) {
  const std::array peaks = {BatchPeak{8, 5 * kGiB}, BatchPeak{16, 3 * kGiB}};
  EXPECT_GE(estimate_from_batches(peaks, 32)->expected, 5 * kGiB);
}

TEST(History, OneBatchSizeIsNotEnough) {
  const std::array peaks = {BatchPeak{8, kGiB}};
  EXPECT_EQ(estimate_from_batches(peaks, 9).error().code, ErrorCode::NotFound);
  EXPECT_EQ(estimate_from_batches(peaks, 0).error().code, ErrorCode::InvalidInput);
}

}  // namespace
}  // namespace carpool::estimate
