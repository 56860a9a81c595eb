#include "app/output/gpu_table.hpp"

#include <string>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;

GpuReading busy_gpu(unsigned index) {
  GpuReading gpu;
  gpu.info.index = index;
  gpu.info.name = "NVIDIA H200";
  gpu.info.memory_bytes = 140 * kGib;
  gpu.info.power_limit_watts = 700.0;
  gpu.info.fine_activity = true;
  GpuSample& sample = gpu.sample.emplace();
  sample.memory_used_bytes = 12 * kGib;
  sample.gpu_utilisation = 0.88;
  sample.power_watts = 412.3;
  sample.sm_clock_mhz = 1980.0;
  sample.temperature_celsius = 52.0;
  GpuActivity& activity = gpu.activity.emplace();
  activity.sm_active = 0.634;
  activity.sm_occupancy = 0.21;
  activity.dram_active = 0.31;
  activity.tensor_active = 0.05;
  return gpu;
}

GpuReading coarse_gpu(unsigned index) {
  GpuReading gpu = busy_gpu(index);
  gpu.info.fine_activity = false;
  GpuActivity& activity = gpu.activity.emplace();
  activity.graphics_active = 0.88;
  activity.dram_active = 0.31;
  activity.substitute_metrics = {"graphics_active: GPU utilisation",
                                 "dram_active: memory utilisation"};
  return gpu;
}

NamedProcess process(std::int64_t pid, std::string command) {
  NamedProcess named;
  named.process.pid = pid;
  named.process.memory_bytes = 3 * kGib;
  named.name = {.user = "ada", .command = std::move(command)};
  return named;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(GpuTable, EveryValueStandsUnderItsHeadingWithAUnit) {
  EXPECT_EQ(gpu_table({busy_gpu(0)}, /*colour=*/false),
            "GPU  name         memory [GiB]  util [%]  SM [%]  occ. [%]  DRAM [%]  tensor [%]  "
            "power [W]  [°C]  SM [MHz]  throttled  procs\n"
            "  0  NVIDIA H200  12.0 / 140.0        88      63        21        31           5  "
            "412 / 700    52      1980  no             0\n");
}

TEST(GpuTable, AbsentIsADashAndNeverZero) {
  GpuReading gpu = busy_gpu(0);
  gpu.sample->power_watts.reset();
  gpu.sample->gpu_utilisation.reset();
  gpu.activity.reset();
  EXPECT_EQ(gpu_table({gpu}, /*colour=*/false),
            "GPU  name         memory [GiB]  util [%]  SM [%]  occ. [%]  DRAM [%]  tensor [%]  "
            "power [W]  [°C]  SM [MHz]  throttled  procs\n"
            "  0  NVIDIA H200  12.0 / 140.0         -       -         -         -           -  "
            "  - / 700    52      1980  no             0\n");
}

TEST(GpuTable, ReasonsOfThrottlingAreNamed) {
  GpuReading gpu = busy_gpu(0);
  gpu.sample->throttle_reasons = {"power-cap", "thermal"};
  EXPECT_TRUE(contains(gpu_table({gpu}, false), "power-cap, thermal"));
}

TEST(GpuTable, ASubstituteMetricHasAStarAndAFootnote) {
  const std::vector<GpuReading> gpus{busy_gpu(0), coarse_gpu(1)};
  EXPECT_TRUE(contains(gpu_table(gpus, false), " 31* "));
  const std::vector<std::string> notes = gpu_footnotes(gpus);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_TRUE(contains(notes[0], "GPU 1: the driver provides no SM counters")) << notes[0];
  EXPECT_TRUE(contains(notes[1], "GPU 1: * memory utilisation replaces DRAM")) << notes[1];
}

TEST(GpuTable, GpusWithTheSameNoteShareIt) {
  const std::vector<std::string> notes = gpu_footnotes({coarse_gpu(0), coarse_gpu(1)});
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_TRUE(notes[0].starts_with("GPU 0, 1: ")) << notes[0];
}

TEST(GpuTable, AGpuThatDoesNotRespondLeavesTheOthersVisible) {
  GpuReading lost;
  lost.info.index = 1;
  lost.info.memory_bytes = 24 * kGib;
  lost.problem = "the GPU is lost";
  const std::vector<GpuReading> gpus{busy_gpu(0), lost};
  const std::string text = gpu_table(gpus, false);
  EXPECT_TRUE(contains(text, "412 / 700")) << text;
  EXPECT_TRUE(contains(text, "- / 24.0")) << text;
  EXPECT_EQ(gpu_footnotes(gpus), std::vector<std::string>{"GPU 1: the GPU is lost"});
  EXPECT_EQ(gpus_to_json(gpus).at(1).at("problem"), "the GPU is lost");
}

TEST(GpuTable, MigInstancesAreListed) {
  GpuReading gpu = busy_gpu(0);
  gpu.info.mig_enabled = true;
  EXPECT_TRUE(contains(gpu_footnotes({gpu}).at(0), "there is no MIG instance"));
  gpu.info.mig = {{"MIG-1", "1g.18gb", 18 * kGib}, {"MIG-2", "2g.35gb", 35 * kGib}};
  EXPECT_EQ(gpu_footnotes({gpu}).at(0),
            "GPU 0: divided into MIG instances: 1g.18gb (18 GiB), 2g.35gb (35 GiB).");
}

TEST(ProcessTable, LongCommandsAreCutAndUnknownOnesAreADash) {
  GpuReading gpu = busy_gpu(0);
  gpu.processes = {process(17, std::string(200, 'x')), process(18, "")};
  gpu.processes[1].process.mps_client = true;
  gpu.processes[1].sm_active = 0.375;
  const std::string text = process_table({gpu}, false);
  EXPECT_TRUE(contains(text, std::string(60, 'x') + "\n")) << text;
  EXPECT_TRUE(contains(text, " 18  ada       38           3.0  yes  -\n")) << text;
}

TEST(ProcessTable, WithoutAProcessItIsASentence) {
  EXPECT_EQ(process_table({busy_gpu(0)}, false), "No process uses GPU memory.\n");
}

TEST(GpuJson, HasTheWholeCommandAndNoKeyForUnknownValues) {
  GpuReading gpu = coarse_gpu(0);
  gpu.processes = {process(17, std::string(200, 'x')), NamedProcess{}};
  const nlohmann::json out = gpus_to_json({gpu});
  EXPECT_EQ(out.at(0).at("processes").at(0).at("command").get<std::string>().size(), 200U);
  EXPECT_FALSE(out.at(0).at("processes").at(1).contains("user"));
  EXPECT_FALSE(out.at(0).at("processes").at(1).contains("sm_active"));
  gpu.processes[1].sm_active = 0.375;
  EXPECT_EQ(gpus_to_json({gpu}).at(0).at("processes").at(1).at("sm_active"), 0.375);
  EXPECT_FALSE(out.at(0).at("activity").contains("sm_active"));
  EXPECT_FALSE(out.at(0).contains("problem"));
}

}  // namespace
}  // namespace carpool::app
