// The kernels of a window as a few numbers.
#include "gpu/cupti/inject/window/kernel_summary.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace carpool {
namespace {

using gpu::inject::KernelSummary;
namespace cupti = gpu::cupti;

constexpr std::uint64_t kFrom = 5'000'000'000;
constexpr std::uint64_t kMicrosecond = 1'000;
constexpr std::uint64_t kMillisecond = 1'000'000;

gpu::activity_format::Device hundred_sms() {
  gpu::activity_format::Device device;
  device.sm_count = 100;
  device.warp_size = 32;
  device.max_threads_per_sm = 2048;
  device.max_warps_per_sm = 64;
  device.max_blocks_per_sm = 32;
  device.registers_per_sm = 65536;
  device.shared_bytes_per_sm = 200'000;
  return device;
}

cupti::KernelRecord kernel(std::uint64_t start, std::uint64_t length, int blocks) {
  cupti::KernelRecord record;
  record.kind = cupti::kKindConcurrentKernel;
  record.start = kFrom + start;
  record.end = record.start + length;
  record.grid = {blocks, 1, 1};
  record.block = {1024, 1, 1};  // 32 warps: two blocks fit on an SM
  record.registers_per_thread = 32;
  return record;
}

double share(std::uint32_t millionths) {
  return 1e-6 * millionths;
}

TEST(KernelSummary, HalfTheTimeOnAQuarterOfTheSms) {
  KernelSummary summary(kFrom);
  for (std::uint64_t at = 0; at < 1000 * kMillisecond; at += 100 * kMicrosecond) {
    summary.add(kernel(at, 50 * kMicrosecond, 25), hundred_sms());
  }
  const auto out = summary.reduced(1000 * kMillisecond, true);
  EXPECT_EQ(out.count, 10'000U);
  EXPECT_NEAR(share(out.busy), 0.5, 1e-3);
  EXPECT_NEAR(share(out.fill), 0.25, 1e-6);
  EXPECT_NEAR(share(out.active), 0.125, 1e-3);
  EXPECT_NEAR(share(out.warps), 25 * 32 / 6400.0, 1e-6);
  EXPECT_EQ(out.mean_ns, 50 * kMicrosecond);
}

TEST(KernelSummary, FillIsAtMostOneWhateverTheGrid) {
  KernelSummary summary(kFrom);
  summary.add(kernel(0, 10 * kMillisecond, 20'000), hundred_sms());
  const auto full = summary.reduced(10 * kMillisecond, true);
  EXPECT_NEAR(share(full.busy), 1.0, 1e-6);
  EXPECT_NEAR(share(full.active), 1.0, 1e-6);
  // One wave of 200 blocks, and 50 blocks in a second wave as long: (1 + 0.5) / 2.
  KernelSummary tail(kFrom);
  tail.add(kernel(0, 10 * kMillisecond, 250), hundred_sms());
  EXPECT_NEAR(share(tail.reduced(10 * kMillisecond, true).fill), 0.75, 1e-6);
}

TEST(KernelSummary, ConcurrentKernelsCountOnceInTimeAndAddUpOnTheSms) {
  // Records of two streams, one after the other: not in the order of time.
  KernelSummary summary(kFrom);
  for (int stream = 0; stream < 2; ++stream) {
    for (std::uint64_t at = 0; at < 100 * kMillisecond; at += 2 * kMillisecond) {
      summary.add(kernel(at, kMillisecond, 30), hundred_sms());
    }
  }
  const auto out = summary.reduced(100 * kMillisecond, true);
  EXPECT_NEAR(share(out.busy), 0.5, 1e-3);
  EXPECT_NEAR(share(out.active), 0.3, 1e-3);
  EXPECT_NEAR(share(out.fill), 0.3, 1e-6);
}

// A program that queues its kernels: they run after the window in which it launched them.
TEST(KernelSummary, KernelsThatRunLateAreCountedOverTheTimeInWhichTheyRan) {
  KernelSummary late(kFrom);
  for (std::uint64_t i = 0; i < 100; ++i) {
    late.add(kernel(4000 * kMillisecond + i * 10 * kMillisecond, 10 * kMillisecond, 200),
             hundred_sms());
  }
  EXPECT_NEAR(share(late.reduced(1000 * kMillisecond, true).busy), 1.0, 1e-3);
  // Half of them are still missing: the window says nothing of the time that they will take.
  EXPECT_NEAR(share(late.reduced(2000 * kMillisecond, false).busy), 1.0, 1e-3);
  EXPECT_NEAR(share(late.reduced(2000 * kMillisecond, true).busy), 0.5, 1e-3);
}

TEST(KernelSummary, NinetyOfAHundredKernelsAreShorterThanTheNinetiethPercentile) {
  KernelSummary summary(kFrom);
  for (std::uint64_t i = 0; i < 100; ++i) {
    summary.add(kernel(i * kMillisecond, i < 89 ? 4 * kMicrosecond : 400 * kMicrosecond, 1),
                hundred_sms());
  }
  EXPECT_NEAR(static_cast<double>(summary.reduced(100 * kMillisecond, true).p90_ns), 400e3, 80e3);
  KernelSummary even(kFrom);
  even.add(kernel(0, 4 * kMicrosecond, 1), hundred_sms());
  EXPECT_NEAR(static_cast<double>(even.reduced(kMillisecond, true).p90_ns), 4e3, 800.0);
}

TEST(KernelSummary, RecordsWithoutTimesAreNotKernels) {
  KernelSummary summary(kFrom);
  cupti::KernelRecord record = kernel(0, 0, 1);
  summary.add(record, hundred_sms());
  record.start = 0;
  summary.add(record, hundred_sms());
  EXPECT_EQ(summary.untimed(), 2U);
  EXPECT_EQ(summary.reduced(kMillisecond, true).count, 0U);
  EXPECT_EQ(summary.reduced(kMillisecond, true).busy, 0U);
}

// Neither a clock that jumps nor a kernel of an hour makes it large.
TEST(KernelSummary, TimesOutOfRangeAreCutOff) {
  KernelSummary summary(kFrom);
  cupti::KernelRecord record = kernel(0, kMillisecond, 200);
  record.start = 1;  // long before the window
  summary.add(record, hundred_sms());
  summary.add(kernel(3'600'000 * kMillisecond, 3'600'000 * kMillisecond, 200), hundred_sms());
  EXPECT_EQ(summary.kernels(), 2U);
  EXPECT_LE(share(summary.reduced(3000 * kMillisecond, true).busy), 1.0);
}

}  // namespace
}  // namespace carpool
