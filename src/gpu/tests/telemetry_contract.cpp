#include "gpu/tests/telemetry_contract.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <set>

#include <gtest/gtest.h>

namespace carpool::gpu {

std::ostream& operator<<(std::ostream& out, const TelemetryCase& telemetry) {
  return out << telemetry.name;
}

namespace {

using namespace std::chrono_literals;

constexpr unsigned kNoSuchGpu = 1000;

class TelemetryContract : public testing::TestWithParam<TelemetryCase> {
 protected:
  void SetUp() override {
    if (!GetParam().skip_because.empty()) {
      GTEST_SKIP() << GetParam().skip_because;
    }
    auto opened = GetParam().open();
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    source_ = std::move(*opened);
    auto gpus = source_->list_gpus();
    ASSERT_TRUE(gpus.has_value()) << gpus.error().message;
    gpus_ = std::move(*gpus);
    ASSERT_FALSE(gpus_.empty()) << "the suite needs at least one GPU";
  }

  void pass(std::chrono::milliseconds span) { GetParam().pass(*source_, span); }

  // The activity over a span that is long enough.
  [[nodiscard]] std::optional<GpuActivity> measured(unsigned gpu) {
    EXPECT_TRUE(source_->begin_activity(gpu).has_value());
    pass(150ms);
    const auto activity = source_->activity(gpu);
    EXPECT_TRUE(activity.has_value()) << activity.error().message;
    return activity.value_or(std::nullopt);
  }

  std::unique_ptr<TelemetrySource> source_;
  std::vector<GpuInfo> gpus_;
};

void expect_ratio(const std::optional<double>& value, const char* what) {
  if (value) {
    EXPECT_GE(*value, 0.0) << what;
    EXPECT_LE(*value, 1.0) << what;
  }
}

TEST_P(TelemetryContract, EveryGpuHasItsPlaceAsIndexAndANameOfItsOwn) {
  std::set<std::string> uuids;
  for (unsigned i = 0; i < gpus_.size(); ++i) {
    EXPECT_EQ(gpus_[i].index, i);
    EXPECT_FALSE(gpus_[i].name.empty());
    EXPECT_FALSE(gpus_[i].driver.empty());
    EXPECT_GT(gpus_[i].memory_bytes, 0U);
    EXPECT_TRUE(uuids.insert(gpus_[i].uuid).second) << "twice: " << gpus_[i].uuid;
    EXPECT_TRUE(gpus_[i].mig_enabled || gpus_[i].mig.empty());
  }
}

TEST_P(TelemetryContract, TheListIsTheSameEachTime) {
  const auto again = source_->list_gpus();
  ASSERT_TRUE(again.has_value());
  ASSERT_EQ(again->size(), gpus_.size());
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    EXPECT_EQ((*again)[i].uuid, gpus_[i].uuid);
  }
}

TEST_P(TelemetryContract, SamplesAreInTheirRangesAndTimeOnlyRises) {
  for (const GpuInfo& gpu : gpus_) {
    std::int64_t last_ns = -1;
    double last_joules = 0.0;
    for (int i = 0; i < 5; ++i) {
      const auto sample = source_->sample(gpu.index);
      ASSERT_TRUE(sample.has_value()) << sample.error().message;
      EXPECT_GT(sample->at_ns, last_ns);
      EXPECT_LE(sample->memory_used_bytes, gpu.memory_bytes);
      expect_ratio(sample->gpu_utilisation, "GPU utilisation");
      expect_ratio(sample->memory_utilisation, "memory utilisation");
      EXPECT_GE(sample->power_watts.value_or(1.0), 0.0);
      last_ns = sample->at_ns;
      const auto energy = source_->energy(gpu.index);
      ASSERT_TRUE(energy.has_value()) << energy.error().message;
      if (*energy) {
        EXPECT_GE((*energy)->joules, last_joules);
        last_joules = (*energy)->joules;
      }
      pass(1ms);
    }
  }
}

TEST_P(TelemetryContract, TheFirstActivityOfAGpuOnlyBeginsASpan) {
  for (const GpuInfo& gpu : gpus_) {
    const auto first = source_->activity(gpu.index);
    ASSERT_TRUE(first.has_value()) << first.error().message;
    EXPECT_FALSE(first->has_value());
  }
}

TEST_P(TelemetryContract, ATooShortSpanTellsNothingAndGoesOn) {
  if (!GetParam().keeps_time) {
    GTEST_SKIP() << "a replay gives the spans of its recording";
  }
  ASSERT_TRUE(source_->begin_activity(0).has_value());
  const auto early = source_->activity(0);
  ASSERT_TRUE(early.has_value()) << early.error().message;
  EXPECT_FALSE(early->has_value());
  pass(150ms);
  const auto late = source_->activity(0);
  ASSERT_TRUE(late.has_value() && late->has_value());
  EXPECT_GE((*late)->span_seconds, 0.1);
}

TEST_P(TelemetryContract, ActivityCoversASpanWithRatiosInTheirRanges) {
  for (const GpuInfo& gpu : gpus_) {
    const auto activity = measured(gpu.index);
    ASSERT_TRUE(activity.has_value());
    EXPECT_GE(activity->span_seconds, 0.1);
    for (const auto field : {&GpuActivity::graphics_active,
                             &GpuActivity::sm_active,
                             &GpuActivity::sm_occupancy,
                             &GpuActivity::dram_active,
                             &GpuActivity::tensor_active,
                             &GpuActivity::fp64_active,
                             &GpuActivity::fp32_active,
                             &GpuActivity::fp16_active}) {
      expect_ratio((*activity).*field, "activity");
    }
    EXPECT_GE(activity->pcie_read_bytes_per_second.value_or(0.0), 0.0);
    EXPECT_GE(activity->pcie_write_bytes_per_second.value_or(0.0), 0.0);
  }
}

TEST_P(TelemetryContract, CoarseCountersAreUsedExactlyWhereFineOnesAreMissing) {
  for (const GpuInfo& gpu : gpus_) {
    const auto activity = measured(gpu.index);
    ASSERT_TRUE(activity.has_value());
    EXPECT_EQ(activity->sm_active.has_value(), activity->substitute_metrics.empty());
    EXPECT_EQ(gpu.fine_activity, activity->substitute_metrics.empty());
  }
}

TEST_P(TelemetryContract, ProcessesAreListedOnceEach) {
  for (const GpuInfo& gpu : gpus_) {
    const auto processes = source_->processes(gpu.index);
    ASSERT_TRUE(processes.has_value()) << processes.error().message;
    std::set<std::int64_t> pids;
    for (const GpuProcess& process : *processes) {
      EXPECT_GT(process.pid, 0);
      EXPECT_TRUE(pids.insert(process.pid).second) << "twice: " << process.pid;
    }
  }
}

TEST_P(TelemetryContract, AGpuThatIsNotThereIsNotFoundByAnyCall) {
  const std::array errors{source_->sample(kNoSuchGpu).map([](auto&&) {}),
                          source_->activity(kNoSuchGpu).map([](auto&&) {}),
                          source_->begin_activity(kNoSuchGpu),
                          source_->processes(kNoSuchGpu).map([](auto&&) {})};
  for (const Result<void>& result : errors) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::NotFound);
    EXPECT_NE(result.error().message.find("1000"), std::string::npos) << result.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         TelemetryContract,
                         testing::ValuesIn(telemetry_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace carpool::gpu
