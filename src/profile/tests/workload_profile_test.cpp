#include "profile/workload_profile.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/files/packed_file.hpp"
#include "base/tests/temporary_folder.hpp"
#include "profile/dataset_merge.hpp"
#include "profile/substitute_metrics.hpp"

namespace carpool::profile {
namespace {

WorkloadProfile sample() {
  WorkloadProfile profile;
  profile.workload = "bert";
  profile.command = {"python3", "train.py"};
  profile.gpu = "H200";
  profile.driver = "580.1";
  profile.recorded = "2026-11-15T08:30:00Z";
  profile.window_seconds = 3.0;
  profile.slowdown = -0.004;
  profile.throughput = ProfiledThroughput{.value = 32.0, .unit = "units/s", .source = "nvtx"};
  profile.steps = {StepEstimate{.source = "nvtx", .steps_per_second = 4.0, .units_per_step = 8.0}};
  profile.metrics = {{"threads", 1000.0}, {"gpu_busy_share", 0.5}};
  profile.substitute_metrics = {{"dram_active", "memory utilisation"}};
  profile.timeline = {TelemetryPoint{.seconds = 0.2, .power_watts = 400.0},
                      TelemetryPoint{.seconds = 0.4}};
  profile.timeline[1].activity.sm_active = 0.25;
  profile.notes = {"one"};
  return profile;
}

TEST(ProfileFile, IsReadAsItWasWritten) {
  const std::string text = profile_json(sample());
  const auto read = parse_profile(text, "a");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(profile_json(*read), text);
  EXPECT_EQ(read->throughput->value, 32.0);
  EXPECT_EQ(read->timeline[0].power_watts, 400.0);
  EXPECT_FALSE(read->timeline[0].activity.sm_active.has_value());
  EXPECT_EQ(read->timeline[1].activity.sm_active, 0.25);
}

TEST(ProfileFile, WithoutAThroughputThereIsNone) {
  WorkloadProfile profile = sample();
  profile.throughput.reset();
  const auto read = parse_profile(profile_json(profile), "a");
  ASSERT_TRUE(read.has_value());
  EXPECT_FALSE(read->throughput.has_value());
}

TEST(ProfileFile, WhatIsWrongIsNamed) {
  const std::string text = profile_json(sample());
  const auto says = [&](const std::string& what, const std::string& with, const char* message) {
    std::string changed = text;
    changed.replace(changed.find(what), what.size(), with);
    const auto read = parse_profile(changed, "a.json");
    ASSERT_FALSE(read.has_value()) << with;
    EXPECT_NE(read.error().message.find(message), std::string::npos) << read.error().message;
    EXPECT_EQ(read.error().message.find("a.json: "), 0U);
  };
  says("\"version\": 1", "\"version\": 2", "of version 1");
  says("\"threads\": 1000.0",
       "\"threads\": \"many\"",
       "profile: metrics: threads: expected a number");
  says("[\"one\"]", "[1]", "profile: notes: expected a list of texts");
  says("\"gpu\": ", "\"gpus\": ", "profile: gpu: is missing");
  says("\"workload\": \"bert\"", "\"workload\": \"../bert\"", "profile: workload: expected a name");
  says("\"power_watts\": [400.0,null]",
       "\"power_watts\": [400.0]",
       "profile: timeline: power_watts: expected a list of 2 numbers");
  EXPECT_EQ(parse_profile(text.substr(0, text.size() / 2), "a").error().message,
            "a is not JSON or is incomplete");
}

TEST(ProfileFile, BothFilesAreWrittenOrNone) {
  const TemporaryFolder folder;
  const auto file = save_profile(sample(), "name\n\"k\"\n", folder.path() / "new");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_TRUE(load_profile(*file).has_value());
  const auto kernels = folder.path() / "new" / "bert.kernels.csv.gz";
  EXPECT_EQ(*read_packed_file(kernels), "name\n\"k\"\n");
  std::filesystem::resize_file(kernels, std::filesystem::file_size(kernels) - 4);
  EXPECT_FALSE(read_packed_file(kernels).has_value());
  // A file cannot replace a folder.
  std::filesystem::remove(*file);
  std::filesystem::create_directories(*file / "x");
  EXPECT_FALSE(save_profile(sample(), "name\n", folder.path() / "new").has_value());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "new" / "bert.kernels.csv.gz"));
}

TEST(SubstituteMetrics, AreSharesOfTheTimeWithAKernel) {
  WorkloadProfile profile;
  profile.metrics = {
      {"gpu_busy_share", 0.5}, {"dram_active", 0.2}, {"tensor_active", 0.1}, {"fp32_active", 0.3}};
  add_substitute_metrics(profile);
  EXPECT_DOUBLE_EQ(profile.metrics["dram_throughput_pct"], 40.0);
  EXPECT_DOUBLE_EQ(profile.metrics["sm_throughput_pct"], 60.0);
  EXPECT_EQ(profile.substitute_metrics["sm_throughput_pct"], "fp32_active / gpu_busy_share");
}

TEST(SubstituteMetrics, CountersGoBeforeSensorsAndMeasuredValuesStay) {
  WorkloadProfile profile;
  profile.metrics = {{"gpu_busy_share", 0.5}, {"dram_active", 0.2}, {"sm_throughput_pct", 7.0}};
  profile.counters = {{"dram__throughput.avg.pct_of_peak_sustained_elapsed", 25.0}};
  add_substitute_metrics(profile);
  EXPECT_DOUBLE_EQ(profile.metrics["dram_throughput_pct"], 50.0);
  EXPECT_EQ(profile.metrics["sm_throughput_pct"], 7.0);
  EXPECT_FALSE(profile.substitute_metrics.contains("sm_throughput_pct"));
}

DatasetTexts dataset() {
  return {.profiles_csv = "workload,exclusive_thr,threads\nbert,10,5\nvit,20,\n",
          .dataset_toml = "gpu = \"H200\"\n[metrics]\nthreads = \"sum\"\n",
          .added = {},
          .filled = 0};
}

TEST(DatasetMerge, AddsColumnsAndKeepsWhatIsThere) {
  const std::vector<WorkloadProfile> profiles = {sample()};
  const auto merged = with_profiles(dataset(), profiles, "d", false);
  ASSERT_TRUE(merged.has_value()) << merged.error().message;
  EXPECT_EQ(merged->profiles_csv,
            "workload,exclusive_thr,threads,gpu_busy_share\nbert,10,5,0.5\nvit,20,,\n");
  EXPECT_EQ(merged->dataset_toml,
            "gpu = \"H200\"\n[metrics]\n"
            "gpu_busy_share = { combine = \"mean\", group = \"activity\" }\nthreads = \"sum\"\n");
  const auto again = with_profiles(*merged, profiles, "d", true);
  ASSERT_TRUE(again.has_value());
  EXPECT_NE(again->profiles_csv.find("bert,10,1000,0.5"), std::string::npos);
  EXPECT_EQ(again->dataset_toml, merged->dataset_toml);
}

TEST(DatasetMerge, AProfileOfAnUnknownWorkloadIsRefused) {
  std::vector<WorkloadProfile> profiles = {sample()};
  profiles.front().workload = "bort";
  const auto merged = with_profiles(dataset(), profiles, "d", false);
  ASSERT_FALSE(merged.has_value());
  EXPECT_NE(merged.error().message.find("did you mean \"bert\"?"), std::string::npos);
}

TEST(MetricNames, AreOnceInTheTable) {
  EXPECT_GT(known_metrics().size(), 40U);
  for (const KnownMetric& metric : known_metrics()) {
    EXPECT_EQ(find_metric(metric.name), &metric);
    EXPECT_FALSE(metric.meaning.empty());
  }
}

}  // namespace
}  // namespace carpool::profile
