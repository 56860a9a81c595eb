#include <algorithm>
#include <ctime>
#include <iostream>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "gpu/nvml/nvml_telemetry.hpp"
#include "gpu/replay/recording.hpp"
#include "gpu_gate.hpp"

namespace carpool {
namespace {

using namespace std::chrono_literals;

class NvmlDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = gpu_skip_reason(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    auto source = gpu::open_nvml();
    ASSERT_TRUE(source.has_value()) << source.error().message;
    source_ = std::move(*source);
  }

  std::unique_ptr<TelemetrySource> source_;
};

TEST_F(NvmlDeviceTest, TheNumbersAreThoseOfARealGpu) {
  const auto gpus = source_->list_gpus();
  ASSERT_TRUE(gpus.has_value() && !gpus->empty());
  const Stopwatch watch;
  ASSERT_TRUE(source_->begin_activity(0).has_value());
  pause_for(1s);
  const auto activity = source_->activity(0);
  const double elapsed = watch.seconds();
  ASSERT_TRUE(activity.has_value() && activity->has_value());
  const auto sample = source_->sample(0);
  ASSERT_TRUE(sample.has_value()) << sample.error().message;
  const auto processes = source_->processes(0);
  ASSERT_TRUE(processes.has_value()) << processes.error().message;
  // Prints the readings as a recording, for the person who runs this.
  std::cout << gpu::recording_header(utc_timestamp(), *gpus)
            << gpu::recording_line(
                   {.sample = *sample, .activity = *activity, .processes = *processes});

  const GpuInfo& gpu = gpus->front();
  EXPECT_EQ(gpu.uuid.rfind("GPU-", 0), 0U) << gpu.uuid;
  EXPECT_GE(gpu.memory_bytes, std::uint64_t{1} << 30U);
  EXPECT_NE(gpu.compute_capability, "");
  EXPECT_GE((*activity)->span_seconds, 1.0);
  EXPECT_LE((*activity)->span_seconds, elapsed);
  // A wrong layout or unit would be off by orders of magnitude.
  EXPECT_GT(sample->power_watts.value_or(50.0), 1.0);
  EXPECT_LT(sample->power_watts.value_or(50.0), 2000.0);
  EXPECT_GT(sample->temperature_celsius.value_or(40.0), 5.0);
  EXPECT_LT(sample->temperature_celsius.value_or(40.0), 120.0);
  EXPECT_GT(sample->sm_clock_mhz.value_or(1000.0), 50.0);
  EXPECT_LT(sample->sm_clock_mhz.value_or(1000.0), 5000.0);
  EXPECT_LT((*activity)->pcie_read_bytes_per_second.value_or(0.0), 1e12);
}

TEST_F(NvmlDeviceTest, EnergyRisesByThePowerThatIsDrawn) {
  const auto before = source_->sample(0);
  const auto first = source_->energy(0);
  pause_for(2s);
  const auto last = source_->energy(0);
  const auto after = source_->sample(0);
  ASSERT_TRUE(before.has_value() && after.has_value() && first.has_value() && last.has_value());
  if (!*first || !before->power_watts) {
    GTEST_SKIP() << "this GPU does not report its energy";
  }
  const double seconds = 1e-9 * static_cast<double>((*last)->at_ns - (*first)->at_ns);
  const double watts = ((*last)->joules - (*first)->joules) / seconds;
  EXPECT_GT(watts, 0.3 * std::min(*before->power_watts, *after->power_watts));
  EXPECT_LT(watts, 3.0 * std::max(*before->power_watts, *after->power_watts));
}

TEST_F(NvmlDeviceTest, TenSamplesASecondTakeLittleOfACore) {
  const auto cpu_seconds = [] {
    return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
  };
  const double started = cpu_seconds();
  const Stopwatch watch;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(source_->sample(0).has_value());
    if (i % 2 == 0) {
      ASSERT_TRUE(source_->activity(0).has_value());
      ASSERT_TRUE(source_->processes(0).has_value());
    }
    pause_for(100ms);
  }
  const double share = (cpu_seconds() - started) / watch.seconds();
  RecordProperty("core_share_percent", std::to_string(100.0 * share));
  std::cout << "telemetry took " << 100.0 * share << " % of one core\n";
  EXPECT_LT(share, 0.02);
}

}  // namespace
}  // namespace carpool
