#include "observe/gpu_watcher.hpp"

#include <future>
#include <new>

#include <gtest/gtest.h>

#include "gpu/fake/fake_telemetry.hpp"

namespace carpool::observe {
namespace {

constexpr WatcherIntervals kOften{std::chrono::milliseconds(1), std::chrono::milliseconds(1)};
constexpr WatcherIntervals kRarely{std::chrono::hours(1), std::chrono::hours(1)};

class GpuWatcherTest : public testing::Test {
 protected:
  gpu::FakeTelemetry source_{gpu::two_fake_gpus()};
};

TEST_F(GpuWatcherTest, PassesReadingsOnUntilItEnds) {
  constexpr int kReadings = 3;
  source_.set_sample(1, {.memory_used_bytes = 1000});
  std::promise<std::vector<GpuObservation>> last;
  int readings = 0;
  {
    WatcherPorts ports{.running = [] { return Result<RunningJobs>(RunningJobs{}); },
                       .post =
                           [&](std::vector<GpuObservation> seen) {
                             if (++readings == kReadings) {
                               last.set_value(std::move(seen));
                             }
                           }};
    const GpuWatcher watcher(source_, gpu::two_fake_gpus(), {}, std::move(ports), kOften);
    const auto seen = last.get_future().get();
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[1].used_bytes, 1000U);
  }
  EXPECT_GE(readings, kReadings);
}

TEST_F(GpuWatcherTest, EndsByItselfWithTheScheduler) {
  std::promise<void> asked_twice;
  int asked = 0;
  bool posted = false;
  WatcherPorts ports{.running = [&]() -> Result<RunningJobs> {
                       if (++asked == 2) {
                         asked_twice.set_value();
                         return fail(ErrorCode::Internal, "the scheduler has ended");
                       }
                       return RunningJobs{};
                     },
                     .post = [&](const std::vector<GpuObservation>&) { posted = asked == 1; }};
  {
    const GpuWatcher watcher(source_, gpu::two_fake_gpus(), {}, std::move(ports), kOften);
    asked_twice.get_future().wait();
  }
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(posted);
}

TEST_F(GpuWatcherTest, AnExceptionCostsOneReadingOnly) {
  std::promise<void> read;
  int asked = 0;
  WatcherPorts ports{.running = [&]() -> Result<RunningJobs> {
                       if (++asked == 1) {
                         throw std::bad_alloc();
                       }
                       return RunningJobs{};
                     },
                     .post =
                         [&](const std::vector<GpuObservation>&) {
                           if (asked == 2) {
                             read.set_value();
                           }
                         }};
  const GpuWatcher watcher(source_, gpu::two_fake_gpus(), {}, std::move(ports), kOften);
  read.get_future().wait();
}

TEST_F(GpuWatcherTest, EndsAtOnceHoweverLongTheInterval) {
  std::promise<void> read;
  WatcherPorts ports{.running = [] { return Result<RunningJobs>(RunningJobs{}); },
                     .post = [&](const std::vector<GpuObservation>&) { read.set_value(); }};
  const GpuWatcher watcher(source_, gpu::two_fake_gpus(), {}, std::move(ports), kRarely);
  read.get_future().wait();
}

TEST_F(GpuWatcherTest, ReadsMoreOftenWhileSomethingHappensAndPostsOnlyNews) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
  constexpr int kReadings = 20;
  std::promise<void> ended;
  int asked = 0;
  std::vector<std::uint64_t> posted;
  WatcherPorts ports{
      .running = [&]() -> Result<RunningJobs> {
        if (++asked == kReadings) {
          source_.set_sample(1, {.memory_used_bytes = kGiB});
        }
        if (asked == 2 * kReadings) {
          ended.set_value();
          return fail(ErrorCode::Internal, "the scheduler has ended");
        }
        return RunningJobs{.lively = true};
      },
      .post =
          [&](const std::vector<GpuObservation>& seen) { posted.push_back(seen[1].used_bytes); }};
  {
    const GpuWatcher watcher(source_,
                             gpu::two_fake_gpus(),
                             {},
                             std::move(ports),
                             {std::chrono::hours(1), std::chrono::milliseconds(1)});
    ended.get_future().wait();
  }
  ASSERT_EQ(posted.size(), 2U);
  EXPECT_EQ(posted[1], kGiB);
}

TEST(WatcherNews, WhatChangesALittleIsNone) {
  const GpuObservation before{.used_bytes = 1000,
                              .latest = GpuPressure{.sm_active = 0.5},
                              .jobs = {{.job = 1, .bytes = 500}}};
  GpuObservation now = before;
  now.used_bytes += 1000;
  now.latest->sm_active = 0.52;
  EXPECT_FALSE(is_news({before}, {now}));
  now.latest.reset();
  EXPECT_FALSE(is_news({before}, {now})) << "nothing was measured";
  now.latest = GpuPressure{.sm_active = 0.6};
  EXPECT_TRUE(is_news({before}, {now}));
  now = before;
  now.jobs.front().processes = 2;
  EXPECT_TRUE(is_news({before}, {now}));
  now = before;
  now.jobs.front().bytes += std::uint64_t{64} << 20U;
  EXPECT_TRUE(is_news({before}, {now}));
  now = before;
  now.unusable = "fell off the bus";
  EXPECT_TRUE(is_news({before}, {now}));
  EXPECT_TRUE(is_news({}, {now}));
}

}  // namespace
}  // namespace carpool::observe
