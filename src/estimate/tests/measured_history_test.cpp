#include "estimate/history/measured_history.hpp"

#include <array>

#include <gtest/gtest.h>

#include "base/text/memory_size.hpp"

namespace carpool::estimate {
namespace {

TEST(History, TheLargestPeakOfTheSameCommandCounts) {
  const std::array peaks = {3 * kGiB, 4 * kGiB, 2 * kGiB};
  const auto estimate = estimate_from_history(peaks);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->expected, 4 * kGiB);
  EXPECT_GT(estimate->upper, estimate->expected);
  EXPECT_LT(estimate->upper, 5 * kGiB);
  EXPECT_EQ(estimate->breakdown.total(), estimate->expected);
}

TEST(History, NothingMeasuredIsNotFound) {
  EXPECT_EQ(estimate_from_history({}).error().code, ErrorCode::NotFound);
}

TEST(History, OtherBatchSizesGiveALine) {
  const std::array peaks = {BatchPeak{8, 3 * kGiB}, BatchPeak{16, 5 * kGiB}};
  const auto between = estimate_from_batches(peaks, 12);
  const auto beyond = estimate_from_batches(peaks, 64);
  ASSERT_TRUE(between && beyond);
  EXPECT_EQ(between->expected, 4 * kGiB);
  EXPECT_EQ(beyond->expected, 17 * kGiB);
  const auto margin = [](const MemoryEstimate& estimate) {
    return static_cast<double>(estimate.upper) / static_cast<double>(estimate.expected);
  };
  EXPECT_GT(margin(*beyond), margin(*between));
}

TEST(History, ABatchThatWasMeasuredIsHistory) {
  const std::array peaks = {BatchPeak{8, 3 * kGiB}, BatchPeak{16, 5 * kGiB}};
  EXPECT_EQ(estimate_from_batches(peaks, 16)->basis, "history");
}

TEST(History, ALargerBatchNeverNeedsLess) {
  const std::array peaks = {BatchPeak{8, 5 * kGiB}, BatchPeak{16, 3 * kGiB}};
  EXPECT_GE(estimate_from_batches(peaks, 32)->expected, 5 * kGiB);
}

TEST(History, OneBatchSizeIsNoLine) {
  const std::array peaks = {BatchPeak{8, kGiB}};
  EXPECT_EQ(estimate_from_batches(peaks, 9).error().code, ErrorCode::NotFound);
  EXPECT_EQ(estimate_from_batches(peaks, 0).error().code, ErrorCode::InvalidInput);
}

}  // namespace
}  // namespace carpool::estimate
