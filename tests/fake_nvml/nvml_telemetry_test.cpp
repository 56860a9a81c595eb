#include "gpu/nvml/nvml_telemetry.hpp"

#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"

namespace carpool {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

// A machine with the fake driver; set_driver() configures it.
class NvmlTelemetryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "carpool-nvml-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    ::unsetenv("CARPOOL_FAKE_NVML");
    std::filesystem::remove_all(folder_);
  }

  void set_driver(std::string_view settings) {
    const std::filesystem::path file = folder_ / "settings";
    ASSERT_TRUE(write_file(file, settings).has_value());
    ::setenv("CARPOOL_FAKE_NVML", file.c_str(), /*overwrite=*/1);
  }

  static std::unique_ptr<TelemetrySource> opened() {
    auto source = gpu::open_nvml();
    EXPECT_TRUE(source.has_value()) << source.error().message;
    return source ? std::move(*source) : nullptr;
  }

  static Result<std::optional<GpuActivity>> activity_of(TelemetrySource& source, unsigned gpu) {
    if (auto begun = source.begin_activity(gpu); !begun) {
      return tl::unexpected(begun.error());
    }
    pause_for(kShortestActivitySpan);
    return source.activity(gpu);
  }

  std::filesystem::path folder_;
};

TEST_F(NvmlTelemetryTest, TellsWhatAGpuIs) {
  const auto gpus = opened()->list_gpus();
  ASSERT_TRUE(gpus.has_value()) << gpus.error().message;
  ASSERT_EQ(gpus->size(), 2U);
  const GpuInfo& gpu = (*gpus)[1];
  EXPECT_TRUE(gpu.uuid.starts_with("GPU-fake-") && gpu.uuid.ends_with("-1")) << gpu.uuid;
  EXPECT_EQ(gpu.name, "Fake H200");
  EXPECT_EQ(gpu.driver, "580.159.04");
  EXPECT_EQ(gpu.pci_bus, "00000000:02:00.0");
  EXPECT_EQ(gpu.compute_capability, "9.0");
  EXPECT_EQ(gpu.memory_bytes, 150'754'820'096U);
  EXPECT_EQ(gpu.power_limit_watts, 700.0);
  EXPECT_EQ(gpu.compute_mode, "default");
  EXPECT_TRUE(gpu.fine_activity);
  EXPECT_FALSE(gpu.mig_enabled);
}

TEST_F(NvmlTelemetryTest, ConvertsEverySensorToItsUnit) {
  set_driver(
      "gpu1.memory_used = 1000\ngpu1.utilization = 50\nmemory_utilization = 25\n"
      "power_mw = 123456\nenergy_mj = 7000\nsm_clock = 1755\nmemory_clock = 2619\n"
      "temperature = 61\nclock_reasons = 0x25\n");
  const auto source = opened();
  const auto sample = source->sample(1);
  ASSERT_TRUE(sample.has_value()) << sample.error().message;
  EXPECT_EQ(sample->memory_used_bytes, 1000U);
  EXPECT_DOUBLE_EQ(sample->gpu_utilisation.value(), 0.5);
  EXPECT_DOUBLE_EQ(sample->memory_utilisation.value(), 0.25);
  EXPECT_DOUBLE_EQ(sample->power_watts.value(), 123.456);
  EXPECT_GE(source->energy(1).value().value().joules, 7.0);
  EXPECT_DOUBLE_EQ(sample->sm_clock_mhz.value(), 1755.0);
  EXPECT_DOUBLE_EQ(sample->memory_clock_mhz.value(), 2619.0);
  EXPECT_DOUBLE_EQ(sample->temperature_celsius.value(), 61.0);
  EXPECT_EQ(sample->throttle_reasons, (std::vector<std::string>{"power-cap", "thermal"}));
}

TEST_F(NvmlTelemetryTest, ReadsTheSmsCountersEachIntoItsField) {
  const auto activity = activity_of(*opened(), 0);
  ASSERT_TRUE(activity.has_value() && activity->has_value());
  const GpuActivity& a = **activity;
  EXPECT_GE(a.span_seconds, 0.1);
  // The fake gives metric N the value N.
  EXPECT_DOUBLE_EQ(a.graphics_active.value(), 0.01);
  EXPECT_DOUBLE_EQ(a.sm_active.value(), 0.02);
  EXPECT_DOUBLE_EQ(a.sm_occupancy.value(), 0.03);
  EXPECT_DOUBLE_EQ(a.tensor_active.value(), 0.05);
  EXPECT_DOUBLE_EQ(a.dram_active.value(), 0.10);
  EXPECT_DOUBLE_EQ(a.fp64_active.value(), 0.11);
  EXPECT_DOUBLE_EQ(a.fp32_active.value(), 0.12);
  EXPECT_DOUBLE_EQ(a.fp16_active.value(), 0.13);
  EXPECT_DOUBLE_EQ(a.pcie_write_bytes_per_second.value(), 20 * kMebibyte);
  EXPECT_DOUBLE_EQ(a.pcie_read_bytes_per_second.value(), 21 * kMebibyte);
  EXPECT_DOUBLE_EQ(a.nvlink_read_bytes_per_second.value(), 60 * kMebibyte);
  EXPECT_DOUBLE_EQ(a.nvlink_write_bytes_per_second.value(), 61 * kMebibyte);
  EXPECT_TRUE(a.substitute_metrics.empty());
}

TEST_F(NvmlTelemetryTest, KeepsRatiosWithinOneAndLeavesOutWhatACounterCannotTell) {
  set_driver("gpm.2 = 100.3\ngpm.3 = nan\ngpm.11 = -\n");
  const auto activity = activity_of(*opened(), 0);
  ASSERT_TRUE(activity.has_value() && activity->has_value());
  EXPECT_EQ((*activity)->sm_active, 1.0);
  EXPECT_EQ((*activity)->sm_occupancy, std::nullopt);
  EXPECT_EQ((*activity)->fp64_active, std::nullopt);
}

TEST_F(NvmlTelemetryTest, SaysWhichCoarseCounterStandsIn) {
  const std::vector<std::string> both{"graphics_active: GPU utilisation",
                                      "dram_active: memory utilisation"};
  // No counters on this GPU; counters that cannot be read now, as in MIG mode.
  for (const char* settings : {"gpu0.gpm = 0\n", "fail.nvmlGpmSampleGet = 3\n"}) {
    SCOPED_TRACE(settings);
    set_driver(settings);
    const auto activity = activity_of(*opened(), 0);
    ASSERT_TRUE(activity.has_value() && activity->has_value());
    EXPECT_DOUBLE_EQ((*activity)->graphics_active.value(), 0.97);
    EXPECT_DOUBLE_EQ((*activity)->dram_active.value(), 0.31);
    EXPECT_EQ((*activity)->sm_active, std::nullopt);
    EXPECT_EQ((*activity)->substitute_metrics, both);
  }
}

TEST_F(NvmlTelemetryTest, MergesTheListsOfOrdinaryAndOfMpsClients) {
  set_driver("processes = 30:100 10:200 10:50 40:-\nmps_processes = 20:300 30:400 40:7\n");
  const auto processes = opened()->processes(0);
  ASSERT_TRUE(processes.has_value()) << processes.error().message;
  ASSERT_EQ(processes->size(), 4U);
  const auto is = [&](std::size_t at, std::int64_t pid, std::uint64_t bytes, bool mps) {
    const GpuProcess& process = (*processes)[at];
    EXPECT_EQ(process.pid, pid);
    EXPECT_EQ(process.memory_bytes, bytes);
    EXPECT_EQ(process.mps_client, mps);
  };
  is(0, 10, 250, false);
  is(1, 20, 300, true);
  is(2, 30, 400, true);
  is(3, 40, 7, true);
}

TEST_F(NvmlTelemetryTest, ListsMoreProcessesThanItMadeRoomFor) {
  std::string settings = "processes =";
  for (int pid = 1; pid <= 300; ++pid) {
    settings += " " + std::to_string(pid) + ":1";
  }
  set_driver(settings + "\n");
  EXPECT_EQ(opened()->processes(0)->size(), 300U);
}

TEST_F(NvmlTelemetryTest, ReadsTheMigLayout) {
  set_driver("gpu1.mig = 1g.18gb 3g.71gb\n");
  const auto gpus = opened()->list_gpus();
  ASSERT_TRUE(gpus.has_value()) << gpus.error().message;
  EXPECT_FALSE((*gpus)[0].mig_enabled);
  const GpuInfo& gpu = (*gpus)[1];
  ASSERT_TRUE(gpu.mig_enabled);
  ASSERT_EQ(gpu.mig.size(), 2U);
  EXPECT_EQ(gpu.mig[1].profile, "3g.71gb");
  EXPECT_TRUE(gpu.mig[1].uuid.starts_with("MIG-fake-")) << gpu.mig[1].uuid;
  EXPECT_TRUE(gpu.mig[1].uuid.ends_with("-1-1")) << gpu.mig[1].uuid;
  EXPECT_GT(gpu.mig[1].memory_bytes, 0U);
}

TEST_F(NvmlTelemetryTest, LeavesOutASensorThatIsNotSupported) {
  set_driver("fail.nvmlDeviceGetPowerUsage = 3\nfail.nvmlDeviceGetTotalEnergyConsumption = 4\n");
  const auto source = opened();
  const auto sample = source->sample(0);
  ASSERT_TRUE(sample.has_value()) << sample.error().message;
  EXPECT_EQ(sample->power_watts, std::nullopt);
  EXPECT_FALSE(source->energy(0).value().has_value());
  EXPECT_TRUE(sample->temperature_celsius.has_value());
}

TEST_F(NvmlTelemetryTest, CountsErrorsAndNamesWhatLimitsTheClocks) {
  set_driver("ecc_corrected = 3\ngpu1.ecc_uncorrected = 1\nclock_reasons = 0x44\n");
  const auto source = opened();
  const auto first = source->health(1);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_EQ(first->ecc_corrected, 3U);
  EXPECT_EQ(first->ecc_uncorrected, 1U);
  EXPECT_EQ(first->xid_errors, 0U);
  EXPECT_EQ(first->last_xid, std::nullopt);
  EXPECT_EQ(first->throttle_reasons, (std::vector<std::string>{"power-cap", "thermal"}));
  set_driver("gpu1.xids = 31 79\n");
  const auto later = source->health(1);
  ASSERT_TRUE(later.has_value()) << later.error().message;
  EXPECT_EQ(later->xid_errors, 2U);
  EXPECT_EQ(later->last_xid, 79U);
  EXPECT_EQ(source->health(1)->xid_errors, 2U);  // each is counted once
  EXPECT_EQ(source->health(0)->xid_errors, 0U);
}

TEST_F(NvmlTelemetryTest, LeavesOutErrorsThatTheDriverDoesNotReport) {
  set_driver(
      "fail.nvmlDeviceGetTotalEccErrors = 3\nfail.nvmlDeviceRegisterEvents = 3\n"
      "fail.nvmlDeviceGetCurrentClocksEventReasons = 3\n"
      "fail.nvmlDeviceGetProcessUtilization = 3\n");
  const auto source = opened();
  const auto health = source->health(0);
  ASSERT_TRUE(health.has_value()) << health.error().message;
  EXPECT_EQ(health->ecc_corrected, std::nullopt);
  EXPECT_EQ(health->ecc_uncorrected, std::nullopt);
  EXPECT_EQ(health->xid_errors, std::nullopt);
  EXPECT_EQ(health->throttle_reasons, std::nullopt);
  EXPECT_EQ(source->process_activity(0).value(), std::nullopt);
}

TEST_F(NvmlTelemetryTest, ReadsTheActivityOfProcesses) {
  const auto source = opened();
  const auto idle = source->process_activity(0);
  ASSERT_TRUE(idle.has_value() && idle->has_value());
  EXPECT_TRUE((*idle)->empty());
  set_driver("sm_of = 10:35 11:101\n");
  const auto read = source->process_activity(0);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const auto& processes = *read;
  ASSERT_TRUE(processes.has_value());
  ASSERT_EQ(processes->size(), 2U);
  EXPECT_EQ((*processes)[0].pid, 10);
  EXPECT_DOUBLE_EQ((*processes)[0].sm_active, 0.35);
  EXPECT_DOUBLE_EQ((*processes)[1].sm_active, 1.0);
}

TEST_F(NvmlTelemetryTest, SaysThatAGpuWasLostWhileItRan) {
  set_driver("");
  const auto source = opened();
  ASSERT_TRUE(source->sample(0).has_value());
  set_driver("fail.nvmlDeviceGetPowerUsage = 15\nfail.nvmlGpmSampleGet = 15\n");
  const auto sample = source->sample(0);
  ASSERT_FALSE(sample.has_value());
  EXPECT_NE(sample.error().message.find("read the power of GPU 0: the GPU is lost"),
            std::string::npos)
      << sample.error().message;
  EXPECT_FALSE(source->begin_activity(0).has_value());
}

TEST_F(NvmlTelemetryTest, PassesTheDriversWordsOnForAnyOtherFailure) {
  set_driver("fail.nvmlDeviceGetTemperature = 999\n");
  const auto sample = opened()->sample(1);
  ASSERT_FALSE(sample.has_value());
  EXPECT_EQ(sample.error().message,
            "read the temperature of GPU 1: NVIDIA driver error: an error of the fake "
            "driver (code 999)");
}

TEST_F(NvmlTelemetryTest, AMachineWithADriverAndNoGpuIsNoError) {
  set_driver("gpus = 0\n");
  EXPECT_TRUE(opened()->list_gpus()->empty());
}

TEST_F(NvmlTelemetryTest, SaysWhyTheDriverDoesNotStart) {
  set_driver("fail.nvmlInit_v2 = 9\n");
  const auto unloaded = gpu::open_nvml();
  ASSERT_FALSE(unloaded.has_value());
  EXPECT_EQ(unloaded.error().code, ErrorCode::Unsupported);
  EXPECT_NE(unloaded.error().message.find("kernel module is not loaded"), std::string::npos);
  set_driver("fail.nvmlInit_v2 = 18\n");
  EXPECT_NE(gpu::open_nvml().error().message.find("different versions"), std::string::npos);
}

TEST_F(NvmlTelemetryTest, SaysThatThereIsNoDriver) {
  const auto source = gpu::open_nvml({"libno-such-driver.so.1"});
  ASSERT_FALSE(source.has_value());
  EXPECT_EQ(source.error().code, ErrorCode::Unsupported);
  EXPECT_NE(source.error().message.find("no NVIDIA driver found: libno-such-driver.so.1"),
            std::string::npos);
}

TEST_F(NvmlTelemetryTest, NamesTheFunctionThatALibraryLacks) {
  const auto source = gpu::open_nvml({FAKE_NVML_NOT_LIBRARY});
  ASSERT_FALSE(source.has_value());
  EXPECT_EQ(source.error().code, ErrorCode::Unsupported);
  EXPECT_NE(source.error().message.find("lacks the function nvmlShutdown"), std::string::npos)
      << source.error().message;
}

TEST_F(NvmlTelemetryTest, DoesNotTakeAFileThatIsNoLibraryForAMissingOne) {
  const std::filesystem::path file = folder_ / "libnvidia-ml.so.1";
  ASSERT_TRUE(write_file(file, "not ELF").has_value());
  const auto source = gpu::open_nvml({file.string()});
  ASSERT_FALSE(source.has_value());
  EXPECT_EQ(source.error().message.find("no NVIDIA driver found"), std::string::npos);
  EXPECT_NE(source.error().message.find(file.string()), std::string::npos);
}

TEST_F(NvmlTelemetryTest, AnswersManyThreads) {
  const auto source = opened();
  std::vector<int> failures(4, 0);
  {
    std::vector<std::jthread> threads;
    threads.reserve(failures.size());
    for (unsigned t = 0; t < failures.size(); ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) {
          failures[t] += source->sample(t % 2).has_value() ? 0 : 1;
          failures[t] += source->processes(t % 2).has_value() ? 0 : 1;
        }
      });
    }
  }
  EXPECT_EQ(failures, std::vector<int>(4, 0));
}

TEST_F(NvmlTelemetryTest, CanBeOpenedAgainAfterItsEnd) {
  EXPECT_TRUE(opened()->sample(0).has_value());
  EXPECT_TRUE(opened()->sample(0).has_value());
}

}  // namespace
}  // namespace carpool
