#include "observe/gpu_watcher.hpp"

#include <future>
#include <new>

#include <gtest/gtest.h>

#include "gpu/fake/fake_telemetry.hpp"

namespace carpool::observe {
namespace {

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
    const GpuWatcher watcher(
        source_, gpu::two_fake_gpus(), {}, std::move(ports), std::chrono::milliseconds(1));
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
    const GpuWatcher watcher(
        source_, gpu::two_fake_gpus(), {}, std::move(ports), std::chrono::milliseconds(1));
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
  const GpuWatcher watcher(
      source_, gpu::two_fake_gpus(), {}, std::move(ports), std::chrono::milliseconds(1));
  read.get_future().wait();
}

TEST_F(GpuWatcherTest, EndsAtOnceHoweverLongTheInterval) {
  std::promise<void> read;
  WatcherPorts ports{.running = [] { return Result<RunningJobs>(RunningJobs{}); },
                     .post = [&](const std::vector<GpuObservation>&) { read.set_value(); }};
  const GpuWatcher watcher(
      source_, gpu::two_fake_gpus(), {}, std::move(ports), std::chrono::hours(1));
  read.get_future().wait();
}

}  // namespace
}  // namespace carpool::observe
