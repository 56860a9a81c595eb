#include "app/output/profile_output.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

// 100 units/s by 12 steps of 20 ms.
profile::WorkloadProfile stepping() {
  profile::WorkloadProfile profile;
  profile.workload = "first";
  profile.startup_seconds = 4.04;
  profile.window_seconds = 10.0;
  profile.throughput = {.value = 100.0, .unit = "units/s", .source = "carpool.step"};
  profile.steps = {{.source = "carpool.step", .steps = 12.0, .p50_seconds = 0.02}};
  profile.metrics = {{"gpu_busy_share", 0.8},
                     {"sm_active", 0.5},
                     {"kernel_us_mean", 12.5},
                     {"memcap_gb", 2.0},
                     {"power_w", 300.0}};
  return profile;
}

profile::KernelTable two_kernels() {
  profile::KernelTable table;
  table.launches = 4;
  table.rows = {{.name = "gemm", .count = 3, .seconds = 750e-6, .share = 0.75},
                {.name = "add", .count = 1, .seconds = 250e-6, .share = 0.25}};
  table.rows[0].occupancy.blocks = 40;
  table.rows[0].occupancy.resident = 0.5;
  table.rows[1].occupancy.blocks = 2;
  table.rows[1].occupancy.resident = 0.125;
  return table;
}

TEST(ProfileOutput, TheSummaryHasTheMainFiguresAndADashForUnknownOnes) {
  EXPECT_EQ(profile_summary(stepping(), two_kernels()),
            "first: profiled for 10.0 s after 4.0 s of start-up\n"
            "  throughput  100 units/s (by carpool.step: 12.0 steps of 20.0 ms)\n"
            "  kernels     - launches/s of 2 distinct kernels, busy 80.0 % of the time\n"
            "  GPU         SM 50.0 %, DRAM - %, 2.00 GiB, 300 W\n");
}

TEST(ProfileOutput, TheSummaryShowsConfidenceBelowOneAndTheSlowdownByProfiling) {
  profile::WorkloadProfile profile = stepping();
  profile.steps[0].confidence = 0.875;
  profile.slowdown = 0.031;
  const std::string text = profile_summary(profile, {});
  EXPECT_NE(text.find("12.0 steps of 20.0 ms, confidence 0.88)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  slowdown    3.1 % by profiling\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("kernels"), std::string::npos) << text;
}

TEST(ProfileOutput, KernelsAreListedWithTheirMeanTimeAndLongNamesAreCut) {
  EXPECT_EQ(kernel_lines(two_kernels(), /*colour=*/false),
            "time [%]  launches  mean [us]  blocks  occupancy [%]  kernel\n"
            "    75.0         3        250      40           50.0  gemm\n"
            "    25.0         1        250       2           12.5  add\n");
  profile::KernelTable many;
  many.rows.resize(20, {.name = std::string(80, 'k'), .count = 1});
  const std::string text = kernel_lines(many, false);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 9);  // the heading and eight kernels
  EXPECT_NE(text.find("  " + std::string(60, 'k') + "\n"), std::string::npos);
}

TEST(ProfileOutput, ProfilesAreListedOnePerLine) {
  profile::WorkloadProfile idle;
  idle.workload = "idle";
  EXPECT_EQ(profiles_table(std::array{stepping(), idle}, /*colour=*/false),
            "workload   throughput  source        busy [%]  SM [%]  DRAM [%]  kernel [us]  "
            "launches/s  memory [GiB]\n"
            "first     100 units/s  carpool.step      80.0    50.0         -         12.5  "
            "         -          2.00\n"
            "idle                -  -                    -       -         -            -  "
            "         -             -\n");
}

TEST(ProfileOutput, AComparisonHasRatiosToTheFirstAndLeavesOutWhatNoProfileHas) {
  profile::WorkloadProfile first = stepping();
  first.metrics = {{"sm_active", 0.5}, {"power_w", 300.0}};
  profile::WorkloadProfile second = first;
  second.workload = "second";
  second.throughput->value = 50.0;
  second.metrics = {{"sm_active", 0.25}};
  EXPECT_EQ(comparison_table(std::array{first, second}, /*colour=*/false),
            "metric      first  second  ratio\n"
            "throughput    100    50.0  0.50x\n"
            "power_w       300       -      -\n"
            "sm_active   0.500   0.250  0.50x\n");
}

TEST(ProfileOutput, JsonIsThatOfTheFile) {
  const nlohmann::json out = profile_to_json(stepping());
  EXPECT_EQ(out.at("workload"), "first");
  EXPECT_EQ(out.at("metrics").at("power_w"), 300.0);
  EXPECT_EQ(out.dump(), nlohmann::json::parse(profile::profile_json(stepping())).dump());
}

}  // namespace
}  // namespace carpool::app
