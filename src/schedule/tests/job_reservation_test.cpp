#include "schedule/gpus/job_reservation.hpp"

#include <gtest/gtest.h>

namespace carpool::schedule {
namespace {

constexpr std::uint64_t kOneGiB = std::uint64_t{1} << 30U;

std::uint64_t with_room(std::uint64_t gib) {
  return static_cast<std::uint64_t>(static_cast<double>(gib * kOneGiB) * 1.10) + kOneGiB / 4;
}

// Sees the same use each second, and returns when the reservation first was below `below`.
double shrinks_after(JobReservation& job, std::uint64_t gib, double from_s, std::uint64_t below) {
  for (double now = from_s; now < from_s + 1000.0; now += 1.0) {
    job.saw(gib * kOneGiB, now);
    if (job.bytes() < below * kOneGiB) {
      return now;
    }
  }
  return -1.0;
}

class JobReservationTest : public ::testing::Test {
 protected:
  ReservationRules rules_;
  JobReservation job_{rules_, 40 * kOneGiB, 80 * kOneGiB};
};

TEST_F(JobReservationTest, JobThatStopsGrowingAtOnceShrinksAfterFiveSeconds) {
  EXPECT_DOUBLE_EQ(shrinks_after(job_, 4, 0.0, 40), 5.0);
  EXPECT_EQ(job_.bytes(), with_room(4));
}

TEST_F(JobReservationTest, JobThatGrewForLongIsWatchedForLonger) {
  for (int second = 0; second <= 20; ++second) {
    job_.saw((4 + static_cast<unsigned>(second)) * kOneGiB, second);
  }
  EXPECT_DOUBLE_EQ(shrinks_after(job_, 24, 21.0, 40), 50.0);  // 20 s + 1.5 x 20 s
}

TEST_F(JobReservationTest, JobThatGrowsForAnHourIsWatchedForFiveMinutes) {
  job_.saw(4 * kOneGiB, 0.0);
  job_.saw(8 * kOneGiB, 3600.0);
  job_.saw(8 * kOneGiB, 3899.0);
  EXPECT_GE(job_.bytes(), 8 * kOneGiB);
  job_.saw(8 * kOneGiB, 3900.0);
  EXPECT_EQ(job_.bytes(), with_room(8));
}

TEST_F(JobReservationTest, JobAboveHalfOfItsGpuShrinksAfterThirtySeconds) {
  JobReservation large(rules_, 80 * kOneGiB, 80 * kOneGiB);
  EXPECT_DOUBLE_EQ(shrinks_after(large, 41, 0.0, 80), 30.0);
}

TEST_F(JobReservationTest, CudaContextAloneIsNotTakenForThePeak) {
  for (int second = 0; second < 30; ++second) {
    job_.saw(kOneGiB / 2, second);
    EXPECT_EQ(job_.bytes(), 40 * kOneGiB);
  }
  job_.saw(kOneGiB / 2, 30.0);
  EXPECT_LT(job_.bytes(), 2 * kOneGiB);
}

TEST_F(JobReservationTest, GrowthAfterItShrankIsFollowedAtOnceAndDoublesTheTime) {
  ASSERT_DOUBLE_EQ(shrinks_after(job_, 4, 0.0, 40), 5.0);
  const std::uint64_t kept = job_.bytes();
  job_.saw(10 * kOneGiB, 6.0);
  EXPECT_EQ(job_.exceeded_bytes(), kept);
  EXPECT_EQ(job_.bytes(), 16 * kOneGiB);  // room for as much growth again
  // 1.5 x 6 s, twice.
  EXPECT_DOUBLE_EQ(shrinks_after(job_, 10, 7.0, 16), 24.0);
  EXPECT_EQ(job_.bytes(), with_room(10));
}

TEST_F(JobReservationTest, GrowthWithinTheMarginExceedsNothing) {
  ASSERT_DOUBLE_EQ(shrinks_after(job_, 10, 0.0, 40), 5.0);
  job_.saw(11 * kOneGiB, 6.0);
  EXPECT_EQ(job_.exceeded_bytes(), 0U);
  EXPECT_EQ(job_.bytes(), with_room(11));
}

TEST_F(JobReservationTest, RaisedReservationHoldsUntilThePeakIsKnownAgain) {
  ASSERT_DOUBLE_EQ(shrinks_after(job_, 4, 0.0, 40), 5.0);
  job_.saw(10 * kOneGiB, 6.0);
  ASSERT_GT(job_.exceeded_bytes(), 0U);
  job_.raise(60 * kOneGiB, 6.0);
  EXPECT_EQ(job_.exceeded_bytes(), 0U);
  job_.saw(10 * kOneGiB, 7.0);
  EXPECT_EQ(job_.bytes(), 60 * kOneGiB);
  EXPECT_DOUBLE_EQ(shrinks_after(job_, 10, 8.0, 60), 24.0);
}

}  // namespace
}  // namespace carpool::schedule
