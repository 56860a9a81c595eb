// The profiler on a recording of a real GPU (data/recordings).
#include <filesystem>

#include <gtest/gtest.h>

#include "base/files/packed_file.hpp"
#include "profile/activity_metrics.hpp"
#include "profile/reduce.hpp"

namespace carpool::profile {
namespace {

// Empty if the recording cannot be read.
std::vector<gpu::ActivityTrace> recorded(const char* name) {
  std::vector<gpu::ActivityTrace> traces;
  const auto bytes =
      read_packed_file(std::filesystem::path(CARPOOL_SOURCE_DIR) / "data/recordings" / name);
  EXPECT_TRUE(bytes.has_value()) << bytes.error().message;
  if (bytes) {
    auto trace = gpu::parse_activity(*bytes, name);
    EXPECT_TRUE(trace.has_value()) << trace.error().message;
    if (trace) {
      traces.push_back(std::move(*trace));
    }
  }
  return traces;
}

class TransformerOnAnH200 : public testing::Test {
 protected:
  void SetUp() override {
    traces_ = recorded("h200-transformer.activity.bin.gz");
    ASSERT_FALSE(traces_.empty());
    // After its start-up: the last 100 steps of 12 ms.
    window_.end_ns = traces_.front().launches.back().start_ns;
    window_.start_ns = window_.end_ns - 1'000'000'000;
  }

  std::vector<gpu::ActivityTrace> traces_;
  TimeWindow window_;
};

TEST_F(TransformerOnAnH200, WasReadWhole) {
  const gpu::ActivityTrace& trace = traces_.front();
  EXPECT_TRUE(trace.complete);
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices.front().name, "NVIDIA H200");
  EXPECT_EQ(trace.devices.front().facts.sm_count, 132U);
  EXPECT_EQ(trace.start.cupti_version, 130'001U);
  ASSERT_EQ(trace.counter_sets.size(), 1U);
  EXPECT_EQ(trace.counter_sets.front().passes, 1U);
}

TEST_F(TransformerOnAnH200, HasTheStepsThatItsProgramCounted) {
  constexpr double kToldSeconds = 0.011'998'8;
  const auto steps = steps_by_launches(traces_, window_);
  ASSERT_FALSE(steps.empty());
  EXPECT_NEAR(steps.front().steps_per_second * kToldSeconds, 1.0, 0.02);
  EXPECT_GT(steps.front().confidence, 0.9);
}

TEST_F(TransformerOnAnH200, GivesMetricsThatAgreeWithTheHardwaresCounters) {
  WorkloadProfile profile;
  const KernelTable kernels = add_recording(traces_, window_, profile);
  EXPECT_GT(kernels.launches, 10'000U);
  EXPECT_GT(profile.metrics.at("gpu_busy_share"), 0.9);
  EXPECT_LE(profile.metrics.at("gpu_busy_share"), 1.0);
  const double active = profile.counters.at("sm__cycles_active.avg.pct_of_peak_sustained_elapsed");
  // GPM's in the profile of the same workload (data/h200-profiles), another run.
  EXPECT_NEAR(active, 89.3, 3.0);
  // SMs are active at most while kernels run.
  EXPECT_LE(active, 100.0 * profile.metrics.at("gpu_busy_share"));
}

TEST(CopiesOnAnH200, TheCountersSeeTheBytesThatTheProgramMoved) {
  constexpr double kToldGbPerSecond = 3'669.66;
  constexpr double kPeakGbPerSecond = 2 * 3.201 * 6'144 / 8;  // transfers a clock, GHz, bits
  const auto traces = recorded("h200-dram.activity.bin.gz");
  ASSERT_FALSE(traces.empty());
  // In this recording the samples after a pause are late by the pause.
  const auto& launches = traces.front().launches;
  WorkloadProfile profile;
  static_cast<void>(add_recording(
      traces,
      {.start_ns = launches.front().start_ns, .end_ns = launches.back().start_ns + 10'000'000'000},
      profile));
  const auto percent = [&](const std::string& name) {
    return profile.counters.at(name + ".avg.pct_of_peak_sustained_elapsed");
  };
  EXPECT_NEAR(percent("dram__throughput") / 100.0 * kPeakGbPerSecond, kToldGbPerSecond, 20.0);
  EXPECT_NEAR(percent("dram__read_throughput"), percent("dram__write_throughput"), 0.2);
  // A sample that covers a pause would lower it to 84.
  EXPECT_GT(percent("sm__cycles_active"), 98.0);
}

}  // namespace
}  // namespace carpool::profile
