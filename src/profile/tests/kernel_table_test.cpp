#include "profile/kernel_table.hpp"

#include <array>

#include <gtest/gtest.h>

#include "profile/activity_metrics.hpp"
#include "profile/tests/made_trace.hpp"

namespace carpool::profile {
namespace {

using gpu::occupancy_of;

// 100 ms: a kernel of 30 ms, ten of 1 ms that overlap it half, one that begins before the window.
class KernelTableTest : public testing::Test {
 protected:
  KernelTableTest() : trace_(small_gpu_trace()) {
    const auto large = add_kernel(trace_, "_Z5largePf", 64, 256, 64, 1000);
    const auto small = add_kernel(trace_, "small", 1, 128);
    add_launch(trace_, small, -5 * kMillisecond, 10 * kMillisecond);
    add_launch(trace_, large, 20 * kMillisecond, 30 * kMillisecond);
    for (int i = 0; i < 10; ++i) {
      add_launch(trace_, small, (45 + i) * kMillisecond, kMillisecond);
    }
    gpu::activity_format::MemoryOperation copy;
    copy.start_ns = 60 * kMillisecond;
    copy.duration_ns = 2 * kMillisecond;
    trace_.memory_operations.push_back(copy);
  }
  gpu::ActivityTrace trace_;
  TimeWindow window_{.start_ns = 0, .end_ns = 100 * kMillisecond};
};

TEST_F(KernelTableTest, CountsWhatStartedInTheWindowLongestFirst) {
  const KernelTable table = kernel_table({&trace_, 1}, window_);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].name, "large(float*)");
  EXPECT_EQ(table.rows[0].symbol, "_Z5largePf");
  EXPECT_DOUBLE_EQ(table.rows[0].share, 0.75);
  EXPECT_EQ(table.rows[1].count, 10U);
  EXPECT_NEAR(table.seconds, 0.040, 1e-12);
  EXPECT_EQ(table.launches, 11U);
}

TEST_F(KernelTableTest, TheSameKernelOfTwoProcessesIsOneRow) {
  const std::array<gpu::ActivityTrace, 2> both = {trace_, trace_};
  const KernelTable table = kernel_table(both, window_);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[1].count, 20U);
}

TEST_F(KernelTableTest, AsTextHasARowAKernelAndUnitsInItsHeader) {
  trace_.kernels[1].name = "a \"quoted\", name";
  const std::string text = kernel_csv(kernel_table({&trace_, 1}, window_));
  EXPECT_EQ(text.find("name,grid_x"), 0U);
  EXPECT_NE(
      text.find("\n\"a \"\"quoted\"\", name\",1,1,1,128,1,1,32,0,0,0,10,0.010000000,1000.0000,"),
      std::string::npos)
      << text;
}

TEST_F(KernelTableTest, MetricsAreWeightedByTime) {
  const KernelTable table = kernel_table({&trace_, 1}, window_);
  const Metrics metrics = activity_metrics({&trace_, 1}, table, window_);
  // Large: 64 blocks of 256; small: 1 of 128.
  EXPECT_DOUBLE_EQ(metrics.at("threads"), 0.75 * 64 * 256 + 0.25 * 128);
  EXPECT_DOUBLE_EQ(metrics.at("registers"), 0.75 * 64 * 256 * 64 + 0.25 * 128 * 32);
  EXPECT_DOUBLE_EQ(metrics.at("static_smem"), 0.75 * 64 * 1000);
  EXPECT_NEAR(metrics.at("xu_avg_threads"), (64.0 * 256 + 10 * 128) / 11, 1e-9);
  EXPECT_DOUBLE_EQ(metrics.at("top_kernel_share"), 0.75);
}

TEST_F(KernelTableTest, BusyTimeIsTheUnionAndIsCutAtTheEdges) {
  const Metrics metrics =
      activity_metrics({&trace_, 1}, kernel_table({&trace_, 1}, window_), window_);
  // 5 ms of the one from before, 30 ms, and the small ones from 50 to 55 ms.
  EXPECT_NEAR(metrics.at("gpu_busy_share"), 0.40, 1e-9);
  EXPECT_NEAR(metrics.at("copy_share"), 0.02, 1e-9);
  EXPECT_NEAR(metrics.at("launches_per_s"), 110.0, 1e-9);
}

TEST_F(KernelTableTest, LengthsAreMicroseconds) {
  const Metrics metrics =
      activity_metrics({&trace_, 1}, kernel_table({&trace_, 1}, window_), window_);
  EXPECT_NEAR(metrics.at("kernel_us_mean"), 40'000.0 / 11, 1e-6);
  EXPECT_NEAR(metrics.at("kernel_us_p50"), 30'000.0, 1e-6);  // most of the time is in it
  EXPECT_NEAR(metrics.at("over_1ms_share"), 0.75, 1e-9);
  EXPECT_NEAR(metrics.at("over_100us_share"), 1.0, 1e-9);
  EXPECT_NEAR(metrics.at("xu_long_kernel_len"), 40'000.0 / 11, 1e-6);
  EXPECT_NEAR(metrics.at("xu_long_short_ratio"), 11.0, 1e-9);
}

TEST_F(KernelTableTest, EveryMetricIsAKnownOne) {
  for (const auto& [name, value] :
       activity_metrics({&trace_, 1}, kernel_table({&trace_, 1}, window_), window_)) {
    EXPECT_NE(find_metric(name), nullptr) << name;
  }
}

TEST_F(KernelTableTest, NothingInTheWindowGivesNoMetrics) {
  const TimeWindow later{.start_ns = 200 * kMillisecond, .end_ns = 300 * kMillisecond};
  const KernelTable table = kernel_table({&trace_, 1}, later);
  EXPECT_TRUE(table.rows.empty());
  EXPECT_TRUE(activity_metrics({&trace_, 1}, table, later).empty());
}

TEST(OccupancyTest, IsLimitedByWhatRunsOutFirst) {
  const gpu::ActivityTrace trace = small_gpu_trace();
  const gpu::activity_format::Device& device = trace.devices.front().facts;
  gpu::activity_format::Kernel kernel;
  kernel.grid = {1000, 1, 1};
  kernel.block = {256, 1, 1};
  kernel.registers_per_thread = 32;
  EXPECT_EQ(occupancy_of(kernel, device).blocks_per_sm, 8.0);  // 64 warps, 8 a block
  EXPECT_DOUBLE_EQ(occupancy_of(kernel, device).theoretical, 1.0);
  kernel.registers_per_thread = 128;
  EXPECT_EQ(occupancy_of(kernel, device).blocks_per_sm, 2.0);  // 4096 registers a warp
  EXPECT_DOUBLE_EQ(occupancy_of(kernel, device).theoretical, 0.25);
  kernel.registers_per_thread = 32;
  kernel.dynamic_shared_bytes = 100 * 1024;
  EXPECT_EQ(occupancy_of(kernel, device).blocks_per_sm, 2.0);
  kernel.dynamic_shared_bytes = 0;
  kernel.block = {32, 1, 1};
  EXPECT_EQ(occupancy_of(kernel, device).blocks_per_sm, 32.0);  // blocks an SM
}

TEST(OccupancyTest, WavesAndSmsFollowFromTheGrid) {
  const gpu::ActivityTrace trace = small_gpu_trace();
  const gpu::activity_format::Device& device = trace.devices.front().facts;
  gpu::activity_format::Kernel kernel;
  kernel.block = {1024, 1, 1};  // two fit on an SM, eight on the GPU
  kernel.registers_per_thread = 32;
  kernel.grid = {3, 1, 1};
  EXPECT_EQ(occupancy_of(kernel, device).sms, 2.0);
  EXPECT_DOUBLE_EQ(occupancy_of(kernel, device).resident, 3.0 / 8.0);
  kernel.grid = {12, 1, 1};
  EXPECT_DOUBLE_EQ(occupancy_of(kernel, device).waves, 1.5);
  EXPECT_DOUBLE_EQ(occupancy_of(kernel, device).resident, 0.75);
  EXPECT_EQ(occupancy_of(kernel, device).sms, 4.0);
}

TEST(OccupancyTest, ADeviceThatTellsNoLimitsGivesNone) {
  gpu::activity_format::Kernel kernel;
  kernel.grid = {3, 2, 1};
  kernel.block = {32, 1, 1};
  const gpu::KernelOccupancy occupancy = occupancy_of(kernel, {});
  EXPECT_EQ(occupancy.blocks, 6U);
  EXPECT_EQ(occupancy.blocks_per_sm, 0.0);
}

}  // namespace
}  // namespace carpool::profile
