#include "schedule/gpus/occupancy.hpp"

#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

GpuObservation seen(JobId job, std::uint64_t gib) {
  return {.gpu = 0, .used_bytes = gib * kGiB, .jobs = {{.job = job, .bytes = gib * kGiB}}};
}

class OccupancyTest : public ::testing::Test {
 protected:
  StubInterference interference_;
  Occupancy gpus_{
      stub_gpus(2), interference_, {.least_s = 100.0, .of_growing = 0.0, .slow_s = 100.0}};

  void add(JobId job, std::uint64_t gib, double now_s, double runtime_s = 1000.0) {
    const unsigned gpu = 0;
    gpus_.add({.job = job, .reserved_bytes = gib * kGiB, .started_s = now_s},
              {&gpu, 1},
              runtime_s,
              now_s);
  }
  [[nodiscard]] const Resident& resident(std::size_t i = 0) const {
    return gpus_.views()[0].residents[i];
  }
};

TEST_F(OccupancyTest, ReservationHoldsUntilThePeakIsKnown) {
  add(1, 20, 0.0);
  gpus_.observe(seen(1, 4), 10.0);
  EXPECT_EQ(resident().used_bytes, 4 * kGiB);
  EXPECT_EQ(resident().reserved_bytes, 20 * kGiB);
  gpus_.observe(seen(1, 10), 50.0);
  gpus_.observe(seen(1, 9), 149.0);
  EXPECT_EQ(resident().reserved_bytes, 20 * kGiB);
  EXPECT_TRUE(gpus_.observe(seen(1, 9), 150.0));
  EXPECT_EQ(resident().reserved_bytes,
            11 * kGiB + kGiB / 4);  // 10 GiB x 1.10 + 256 MiB
  EXPECT_EQ(gpus_.watched(1, 150.0)->peak_bytes, 10 * kGiB);
}

TEST_F(OccupancyTest, PeakAboveTheReservationRaisesItAtOnceEvenLate) {
  add(1, 8, 0.0);
  gpus_.observe(seen(1, 12), 1.0);
  EXPECT_EQ(resident().reserved_bytes, 12 * kGiB);
  gpus_.observe(seen(1, 12), 101.0);
  gpus_.observe(seen(1, 20), 500.0);
  EXPECT_EQ(resident().reserved_bytes, 20 * kGiB);
}

// In a container the driver hides whose processes are on the GPU.
TEST_F(OccupancyTest, JobWhoseMemoryIsHiddenComputesAndKeepsItsReservation) {
  const unsigned gpu = 0;
  gpus_.add({.job = 1, .reserved_bytes = 20 * kGiB, .phase = ResidentPhase::Starting},
            {&gpu, 1},
            1000.0,
            0.0);
  const GpuObservation hidden{
      .gpu = 0, .used_bytes = 3 * kGiB, .jobs = {{.job = 1, .processes = 0}}};
  EXPECT_TRUE(gpus_.observe(hidden, 10.0));
  EXPECT_EQ(resident().phase, ResidentPhase::Computing);
  gpus_.observe(hidden, 1000.0);
  EXPECT_EQ(resident().reserved_bytes, 20 * kGiB);
  EXPECT_FALSE(gpus_.watched(1, 1000.0)->peak_bytes.has_value());
}

TEST_F(OccupancyTest, NoReservationStaysNone) {
  add(1, 0, 0.0);
  gpus_.observe(seen(1, 12), 1.0);
  EXPECT_EQ(resident().reserved_bytes, 0U);
  EXPECT_EQ(resident().used_bytes, 12 * kGiB);
}

TEST_F(OccupancyTest, MemoryOfAnEndedJobIsFreeBeforeTheNextObservation) {
  add(1, 8, 0.0);
  gpus_.observe(seen(1, 12), 1.0);
  gpus_.remove(1, 2.0);
  EXPECT_EQ(gpus_.views()[0].used_bytes, 0U);
  EXPECT_FALSE(gpus_.watched(1, 0.0));
}

TEST_F(OccupancyTest, RemainingTimeCountsTheSlowdownBesideOthers) {
  add(1, 8, 0.0);
  add(2, 8, 100.0);  // both at half speed from now on
  gpus_.refresh(300.0);
  EXPECT_DOUBLE_EQ(*resident(0).remaining_s, 800.0);  // 1000 - 100 - 200/2
  EXPECT_DOUBLE_EQ(*resident(1).remaining_s, 900.0);
  gpus_.remove(2, 300.0);
  gpus_.refresh(400.0);
  EXPECT_DOUBLE_EQ(*resident(0).remaining_s, 700.0);
  gpus_.refresh(2100.0);
  EXPECT_DOUBLE_EQ(*resident(0).remaining_s, 200.0);  // late: a tenth of what it took
}

TEST_F(OccupancyTest, SaysWhetherTheLastJobWasSeen) {
  gpus_.refresh(0.0);
  EXPECT_TRUE(gpus_.views()[0].last_seen_busy);
  add(1, 8, 10.0);
  gpus_.refresh(15.0);
  EXPECT_FALSE(gpus_.views()[0].last_seen_busy);
  EXPECT_DOUBLE_EQ(gpus_.views()[0].since_placed_s, 5.0);
  gpus_.observe(seen(1, 1), 20.0);
  gpus_.refresh(26.0);
  EXPECT_TRUE(gpus_.views()[0].last_seen_busy);
  EXPECT_DOUBLE_EQ(gpus_.views()[0].since_seen_busy_s, 6.0);
  gpus_.remove(1, 30.0);
  gpus_.refresh(30.0);
  EXPECT_GT(gpus_.views()[0].since_seen_busy_s, 1e9);
}

TEST_F(OccupancyTest, SmallChangesDoNotAskForADecision) {
  add(1, 20, 0.0);
  EXPECT_TRUE(gpus_.observe(seen(1, 4), 1.0));
  EXPECT_FALSE(gpus_.observe(seen(1, 4), 2.0));
  GpuObservation sick = seen(1, 4);
  sick.unusable = "fell off the bus";
  EXPECT_TRUE(gpus_.observe(sick, 3.0));
  EXPECT_EQ(gpus_.find(0)->unusable, "fell off the bus");
}

}  // namespace
}  // namespace carpool::schedule
