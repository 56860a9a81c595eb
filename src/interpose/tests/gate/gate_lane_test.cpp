// The lane of the policy `salus`, as processes share it.
#include <memory>

#include <gtest/gtest.h>

#include "interpose/gate/lane.hpp"
#include "interpose/gate/lane_turns.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr Nanoseconds kStart = 7 * kSecond;

class GateLane : public testing::Test {
 protected:
  GateLane() {
    first_.start(0);
    second_.start(kClientSlots - 1);
  }
  [[nodiscard]] bool sees_it_taken_by_another(const LaneTurns& turns, Nanoseconds now) const {
    const LaneMemory seen = turns.sight(*state_, now);
    return seen.taken && seen.owner == 1;
  }

  std::unique_ptr<SharedState> state_ = std::make_unique<SharedState>();
  LaneTurns first_;
  LaneTurns second_;
};

TEST_F(GateLane, HasOneOwnerAtATime) {
  ASSERT_TRUE(take_lane(*state_, 3, kStart + 10, kStart));
  EXPECT_FALSE(take_lane(*state_, 4, kStart + 20, kStart + 9));
  const Lane seen = lane_of(*state_, kStart);
  EXPECT_TRUE(seen.taken);
  EXPECT_EQ(seen.slot, 3U);
  EXPECT_EQ(seen.until, kStart + 10);
  EXPECT_TRUE(take_lane(*state_, 3, kStart + 30, kStart + 9));  // longer
  EXPECT_TRUE(lane_of(*state_, kStart + 29).taken);
  leave_lane(*state_, 4);
  EXPECT_TRUE(lane_of(*state_, kStart + 29).taken);
  leave_lane(*state_, 3);
  EXPECT_EQ(state_->gpu.lane.load(), 0U);
}

TEST_F(GateLane, EndsByItself) {
  ASSERT_TRUE(take_lane(*state_, 3, kStart + 10, kStart));
  clear_lane(*state_, kStart + 9);
  EXPECT_TRUE(lane_of(*state_, kStart + 9).taken);
  EXPECT_FALSE(lane_of(*state_, kStart + 10).taken);
  clear_lane(*state_, kStart + 10);
  EXPECT_EQ(state_->gpu.lane.load(), 0U);
}

TEST_F(GateLane, ADamagedWordHoldsNobody) {
  state_->gpu.lane.store(~std::uint64_t{0});  // no such slot
  EXPECT_FALSE(lane_of(*state_, kStart).taken);
  EXPECT_TRUE(take_lane(*state_, 0, kStart + 1, kStart));
  EXPECT_TRUE(take_lane(*state_, 0, kNever, kStart));
  EXPECT_TRUE(lane_of(*state_, kStart).taken);
}

TEST_F(GateLane, ATurnWithoutMarksLastsUntilItsWorkIsDone) {
  const Nanoseconds done_at = kStart + kLaneTurn + 5 * kMillisecond;
  ASSERT_TRUE(first_.enter(*state_, done_at, kStart));
  EXPECT_EQ(first_.sight(*state_, kStart).owner, 0U);
  EXPECT_TRUE(sees_it_taken_by_another(second_, kStart));
  EXPECT_FALSE(second_.enter(*state_, kStart, kStart));
  // The turn is over, its work is not. While the process asks, it keeps the lane.
  first_.keep(*state_, done_at, kStart + kLaneTurn - 1);
  EXPECT_TRUE(sees_it_taken_by_another(first_, kStart + kLaneTurn));
  EXPECT_FALSE(second_.enter(*state_, done_at, done_at - 1));
  EXPECT_FALSE(second_.sight(*state_, done_at).taken);
  first_.keep(*state_, done_at, done_at);
  EXPECT_TRUE(second_.enter(*state_, done_at, done_at));
}

TEST_F(GateLane, AMarkedIterationEndsWithItsMark) {
  first_.iteration_begins(kStart);
  Nanoseconds now = kStart;
  for (; now < kStart + 5 * kLaneTurn; now += kLaneTurn / 2) {
    ASSERT_TRUE(first_.enter(*state_, now + kMillisecond, now));
    EXPECT_EQ(first_.sight(*state_, now).owner, 0U);
  }
  EXPECT_TRUE(sees_it_taken_by_another(second_, now));
  first_.iteration_ends(*state_, now + kMillisecond, now);
  EXPECT_TRUE(sees_it_taken_by_another(first_, now));  // its work is not done
  EXPECT_FALSE(second_.sight(*state_, now + kMillisecond).taken);
  second_.iteration_ends(*state_, now, now);  // of another: nothing
  EXPECT_TRUE(lane_of(*state_, now).taken);
  first_.iteration_ends(*state_, now, now);
  EXPECT_EQ(state_->gpu.lane.load(), 0U);
}

TEST_F(GateLane, IsFreeSoonAfterItsOwnerWasKilled) {
  first_.iteration_begins(kStart);
  ASSERT_TRUE(first_.enter(*state_, kStart + 10 * kSecond, kStart));
  EXPECT_TRUE(lane_of(*state_, kStart + kLaneTurn - 1).taken);
  EXPECT_FALSE(lane_of(*state_, kStart + kLaneTurn).taken);
}

TEST_F(GateLane, IsGivenBackToARequestThatBeganMeanwhile) {
  state_->gpu.slo_clients[0].store(std::uint64_t{1} << 5U);
  state_->clients[5].gate.lease_ns.store(static_cast<std::uint64_t>(kStart));
  EXPECT_FALSE(first_.enter(*state_, kStart, kStart));
  EXPECT_EQ(state_->gpu.lane.load(), 0U);
  // It was stopped while it waited for the GPU: the policy decides how long it counts.
  state_->clients[5].gate.busy.store(1);
  EXPECT_TRUE(first_.enter(*state_, kStart, kStart + 1));
  // Kept while requests come.
  state_->clients[5].gate.lease_ns.store(static_cast<std::uint64_t>(kStart + 2));
  EXPECT_TRUE(first_.enter(*state_, kStart, kStart + 2));
}

}  // namespace
}  // namespace carpool::interpose::gate
