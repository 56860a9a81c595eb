// The bell by which SLO processes wake the threads that open and close gates.
#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "interpose/library/gating/sign_bell.hpp"

namespace carpool::interpose {
namespace {

constexpr gate::Nanoseconds kLong = 20 * gate::kSecond;

class ShimBell : public testing::Test {
 protected:
  std::unique_ptr<SharedState> state_ = std::make_unique<SharedState>();
};

TEST_F(ShimBell, WakesTheThreadsThatSleep) {
  std::atomic<int> awake{0};
  const Stopwatch watch;
  const auto sleep = [&] {
    sleep_until_bell(*state_, bell_count(*state_), kLong);
    ++awake;
  };
  std::thread first(sleep);
  std::thread second(sleep);
  while (state_->gpu.waiting_keepers.load() < 2) {
    std::this_thread::yield();
  }
  while (awake.load() < 2) {  // one may have counted itself, and not sleep yet
    ring_bell(*state_);
    std::this_thread::yield();
  }
  first.join();
  second.join();
  EXPECT_LT(watch.seconds(), 10.0);
  EXPECT_EQ(state_->gpu.waiting_keepers.load(), 0U);
}

TEST_F(ShimBell, ASignBeforeTheSleepIsNotLost) {
  const std::uint32_t seen = bell_count(*state_);
  ring_bell(*state_);
  const Stopwatch watch;
  sleep_until_bell(*state_, seen, kLong);
  EXPECT_LT(watch.seconds(), 10.0);
}

TEST_F(ShimBell, ASleepEnds) {
  const Stopwatch watch;
  sleep_until_bell(*state_, bell_count(*state_), 20 * gate::kMillisecond);
  EXPECT_GE(watch.seconds(), 0.019);
}

}  // namespace
}  // namespace carpool::interpose
