// What the profiler makes of a recording from a real GPU (data/recordings).
#include <filesystem>

#include <gtest/gtest.h>

#include "base/packed_file.hpp"
#include "profile/activity_metrics.hpp"
#include "profile/reduce.hpp"

namespace carpool {
namespace {

class TransformerOnAnH200 : public testing::Test {
 protected:
  void SetUp() override {
    const auto bytes = read_packed_file(std::filesystem::path(CARPOOL_SOURCE_DIR) /
                                        "data/recordings/h200-transformer.activity.bin.gz");
    ASSERT_TRUE(bytes.has_value()) << bytes.error().message;
    auto trace = parse_activity(*bytes, "the recording");
    ASSERT_TRUE(trace.has_value()) << trace.error().message;
    traces_.push_back(std::move(*trace));
    // Behind its start-up: 100 steps of 12 ms ended the program.
    window_.end_ns = traces_.front().launches.back().start_ns;
    window_.start_ns = window_.end_ns - 1'000'000'000;
  }

  std::vector<ActivityTrace> traces_;
  TimeWindow window_;
};

TEST_F(TransformerOnAnH200, WasReadWhole) {
  const ActivityTrace& trace = traces_.front();
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
  EXPECT_GT(active, 50.0);
  // SMs are active at most while kernels run.
  EXPECT_LE(active, 100.0 * profile.metrics.at("gpu_busy_share"));
}

}  // namespace
}  // namespace carpool
