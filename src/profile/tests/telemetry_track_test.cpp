#include "profile/watch/telemetry_track.hpp"

#include <chrono>
#include <unistd.h>

#include <gtest/gtest.h>

#include "gpu/fake/fake_telemetry.hpp"

namespace carpool::profile {
namespace {

constexpr std::uint64_t kGib = 1ULL << 30U;

class Track : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(track_.begin(now_ns_)); }

  // One second later, with the memory of this process and of another one.
  void see(std::uint64_t own_bytes, std::uint64_t others_bytes = kGib) {
    source_.set_processes(
        0,
        {{.pid = static_cast<std::uint32_t>(::getpid()), .memory_bytes = own_bytes},
         {.pid = 1, .memory_bytes = others_bytes}});
    source_.advance(std::chrono::seconds(1));
    now_ns_ += 1'000'000'000;
    ASSERT_TRUE(track_.take(now_ns_, ::getpgrp()));
  }

  std::int64_t now_ns_ = 5'000'000'000;
  gpu::FakeTelemetry source_{gpu::two_fake_gpus()};
  TelemetryTrack track_{source_, 0};
};

TEST_F(Track, MemoryThatStaysHasNotChangedWhateverOthersDo) {
  see(4 * kGib);
  see(4 * kGib, 9 * kGib);
  see(4 * kGib, 2 * kGib);
  EXPECT_FALSE(track_.memory_changed());
  EXPECT_EQ(track_.points().back().memory_gib, 4.0);
}

TEST_F(Track, AWorkspaceOfAMegabyteIsNoChange) {
  see(4 * kGib);
  see(4 * kGib + (1U << 20U));
  EXPECT_FALSE(track_.memory_changed());
}

TEST_F(Track, WeightsThatArriveOneByOneAreAChange) {
  see(4 * kGib);
  see(5 * kGib);
  EXPECT_TRUE(track_.memory_changed());
}

TEST_F(Track, MemoryThatIsGivenBackIsAChange) {
  see(5 * kGib);
  see(5 * kGib);
  see(4 * kGib);
  EXPECT_TRUE(track_.memory_changed());
}

TEST_F(Track, AWindowThatOpensAgainForgets) {
  see(4 * kGib);
  see(5 * kGib);
  ASSERT_TRUE(track_.begin(now_ns_));
  EXPECT_TRUE(track_.points().empty());
  see(5 * kGib);
  see(5 * kGib);
  EXPECT_FALSE(track_.memory_changed());
  EXPECT_DOUBLE_EQ(track_.points().front().seconds, 1.0);
}

}  // namespace
}  // namespace carpool::profile
