#include "schedule/gpus/lent_memory.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

using Kind = LentMemory::Order::Kind;

// A GPU of 40 GiB that is looked at each second; orders are followed.
class LentMemoryTest : public ::testing::Test {
 protected:
  LentMemoryTest() { gpu_.memory_bytes = 40 * kGiB; }

  Resident& add(JobId job, std::uint64_t used_gib, std::uint64_t reserved_gib) {
    gpu_.residents.push_back({.job = job,
                              .mechanism = ShareMechanism::Mps,
                              .reserved_bytes = reserved_gib * kGiB,
                              .used_bytes = used_gib * kGiB,
                              .started_s = static_cast<double>(job)});
    return gpu_.residents.back();
  }
  Resident& of(JobId job) { return *std::ranges::find(gpu_.residents, job, &Resident::job); }
  void grow(JobId job, std::uint64_t bytes) {
    Resident& resident = of(job);
    resident.used_bytes += bytes;
    if (resident.used_bytes > resident.reserved_bytes) {
      exceeded_.emplace(job, resident.reserved_bytes);
      resident.reserved_bytes = resident.used_bytes;
    }
  }
  std::vector<LentMemory::Order> look() {
    gpu_.used_bytes = 0;
    for (const Resident& resident : gpu_.residents) {
      gpu_.used_bytes += resident.used_bytes;
    }
    now_ += 1.0;
    auto orders = lent_.observe(gpu_, exceeded_, now_);
    for (const LentMemory::Order& order : orders) {
      Resident& resident = of(order.job);
      if (order.kind == Kind::Requeue) {
        std::erase_if(gpu_.residents, [&](const Resident& one) { return one.job == order.job; });
        continue;
      }
      const bool pause = order.kind == Kind::Pause;
      resident.phase = pause ? ResidentPhase::Paused : ResidentPhase::Computing;
      resident.paused_for = PauseCause::Memory;
      resident.phase_since_s = now_;
    }
    return orders;
  }
  // Grows each second until something happens.
  std::vector<LentMemory::Order> grow_until_order(JobId job, std::uint64_t bytes_per_s) {
    for (int i = 0; i < 100; ++i) {
      if (of(job).phase == ResidentPhase::Computing) {
        grow(job, bytes_per_s);
      }
      if (auto orders = look(); !orders.empty()) {
        return orders;
      }
      if (gpu_.used_bytes > gpu_.memory_bytes) {
        break;
      }
    }
    return {};
  }

  GpuView gpu_;
  LentMemory lent_{{}};
  LentMemory::Exceeded exceeded_;
  double now_ = 0.0;
};

TEST_F(LentMemoryTest, JobThatGrowsIntoLentRoomStandsStillBeforeItIsGone) {
  add(1, 4, 4);
  add(2, 20, 20);
  look();
  const auto orders = grow_until_order(1, kGiB);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].kind, Kind::Pause);
  EXPECT_EQ(orders[0].job, 1);
  EXPECT_EQ(orders[0].reason,
            "it grows beyond the 4 GiB reserved for it, and GPU 0 has 2 GiB left");
  EXPECT_LT(gpu_.used_bytes, gpu_.memory_bytes);
}

TEST_F(LentMemoryTest, JobThatGrowsWithinItsReservationDoesNot) {
  add(1, 4, 20);
  add(2, 19, 19);
  for (int i = 0; i < 16; ++i) {
    grow(1, kGiB);
    EXPECT_TRUE(look().empty());
  }
}

// A job cannot take more than its cap, however fast it grows.
TEST_F(LentMemoryTest, JobThatGrowsFastIsLeftAloneWhereItsCapHasRoom) {
  add(1, 2, 10);
  add(2, 1, 2).cap_bytes = 14 * kGiB;
  (void)look();
  grow(2, 10 * kGiB);
  EXPECT_TRUE(look().empty());
  of(2).cap_bytes = 0;
  grow(2, kGiB / 8);
  EXPECT_EQ(look().at(0).kind, Kind::Pause);
}

// A guess that no job has begun to use keeps no other job from growing.
TEST_F(LentMemoryTest, OnlyAPartOfAGuessCountsAgainstOthers) {
  add(1, 0, 24).need_known = false;
  add(2, 4, 5).cap_bytes = 17 * kGiB;
  (void)look();
  grow(2, 12 * kGiB);
  EXPECT_TRUE(look().empty());
  of(1).need_known = true;
  grow(2, kGiB / 8);
  EXPECT_EQ(look().at(0).kind, Kind::Pause);
}

TEST_F(LentMemoryTest, ReservationsOfOthersAreNotLentAway) {
  add(1, 4, 4);
  add(2, 1, 30).phase = ResidentPhase::Starting;
  add(3, 1, 1);
  look();
  const auto orders = grow_until_order(1, kGiB / 4);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].job, 1);
  EXPECT_LT(of(1).used_bytes, 9 * kGiB);
}

TEST_F(LentMemoryTest, NewestGoesFirstAndSloAndSeveralGpusNever) {
  add(1, 5, 5);
  add(2, 5, 5);
  add(3, 5, 5).job_class = JobClass::Slo;
  add(4, 5, 5).several_gpus = true;
  look();
  for (int i = 0; i < 5; ++i) {
    for (const JobId job : {1, 2, 3, 4}) {
      grow(job, kGiB / 2);
    }
    if (const auto orders = look(); !orders.empty()) {
      EXPECT_EQ(orders.front().job, 2);
      return;
    }
  }
  for (int i = 0; i < 4; ++i) {
    grow(1, kGiB);
    grow(2, kGiB);
    if (const auto orders = look(); !orders.empty()) {
      EXPECT_EQ(orders.front().job, 2);
      EXPECT_EQ(of(3).phase, ResidentPhase::Computing);
      return;
    }
  }
  FAIL() << "no job was paused";
}

TEST_F(LentMemoryTest, PausedJobGoesOnWhenThereIsRoom) {
  add(1, 4, 4).cap_bytes = 30 * kGiB;
  add(2, 20, 20);
  look();
  ASSERT_EQ(grow_until_order(1, kGiB).at(0).kind, Kind::Pause);
  EXPECT_TRUE(look().empty());
  std::erase_if(gpu_.residents, [](const Resident& one) { return one.job == 2; });
  add(3, 1, 1);
  const auto orders = look();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].kind, Kind::Resume);
  EXPECT_EQ(orders[0].reserve_bytes, 30 * kGiB);
}

TEST_F(LentMemoryTest, SomeJobAlwaysComputes) {
  add(1, 4, 4);
  add(2, 4, 4);
  look();
  bool sent_back = false;
  for (int i = 0; i < 60; ++i) {
    for (const JobId job : {1, 2}) {
      if (std::ranges::find(gpu_.residents, job, &Resident::job) != gpu_.residents.end() &&
          of(job).phase == ResidentPhase::Computing && of(job).used_bytes < 30 * kGiB) {
        grow(job, kGiB);
      }
    }
    for (const auto& order : look()) {
      sent_back = sent_back || order.kind == Kind::Requeue;
    }
    EXPECT_LE(gpu_.used_bytes, gpu_.memory_bytes);
    EXPECT_TRUE(std::ranges::any_of(
        gpu_.residents, [](const Resident& one) { return one.phase == ResidentPhase::Computing; }));
  }
  EXPECT_TRUE(sent_back);  // both cannot have 30 GiB of 40
}

TEST_F(LentMemoryTest, JobThatStoodStillTooLongGoesBackWithHalfAsMuchAgain) {
  add(1, 4, 4);
  add(2, 20, 20);
  look();
  ASSERT_EQ(grow_until_order(1, kGiB).at(0).kind, Kind::Pause);
  const std::uint64_t held = of(1).used_bytes;
  now_ += 298.0;
  EXPECT_TRUE(look().empty());
  const auto orders = look();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].kind, Kind::Requeue);
  EXPECT_EQ(orders[0].reserve_bytes, held + held / 2);
}

}  // namespace
}  // namespace carpool::schedule
