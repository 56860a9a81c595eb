// The reports of `carpool report`, `profiles` and `simulate`, before they are rendered.
#include <array>
#include <cmath>
#include <fstream>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "app/output/simulate_output.hpp"
#include "app/report/profile_report.hpp"
#include "app/report/report_builder.hpp"
#include "app/tests/small_dataset.hpp"

namespace carpool::app {
namespace {

// The matrix of slowdowns, which is the section before the last, as numbers.
std::vector<double> slowdowns(const SmallDataset& small) {
  const auto dataset = dataset::load_dataset(small.path());
  EXPECT_TRUE(dataset.has_value());
  const auto made = build_report({.dataset = *dataset, .command = "", .on_progress = {}});
  EXPECT_TRUE(made.has_value()) << made.error().message;
  const report::ReportSection& section = made->sections.at(made->sections.size() - 2);
  std::vector<double> numbers;
  for (const report::SlowdownCell& cell :
       std::get<report::SlowdownMatrix>(section.figures.at(0).content).cells) {
    numbers.push_back(cell.measured);
    numbers.push_back(cell.predicted);
  }
  return numbers;
}

TEST(DatasetReport, RowsUnderThreadLimitsDoNotPassForRowsWithout) {
  const SmallDataset small;
  const std::vector<double> plain = slowdowns(small);
  std::string pairs = "w1,w2,thr1,thr2,pct1,pct2\n";
  std::ifstream rows(small.path() + "/pairs.csv");
  std::string line;
  std::getline(rows, line);
  while (std::getline(rows, line)) {
    pairs += line + ",,\n";
  }
  pairs += "job0,job1,1,2,10,10\njob2,job3,3,4,10,10\n";
  static_cast<void>(small.folder().write("pairs.csv", pairs));
  const std::vector<double> limited = slowdowns(small);
  ASSERT_EQ(limited.size(), plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(limited[i] == plain[i] || (std::isnan(limited[i]) && std::isnan(plain[i]))) << i;
  }
}

TEST(ProfileReport, SharesAreInPercentAndMissingMetricsHaveNoValue) {
  profile::WorkloadProfile first;
  first.workload = "first";
  first.gpu = "NVIDIA H200";
  first.metrics = {{"sm_active", 0.25}, {"kernel_us_p50", 40.0}};
  profile::WorkloadProfile second;
  second.workload = "second";
  const report::Report made = profile_report(std::array{first, second}, "carpool profiles p");
  EXPECT_EQ(made.subtitle, "2 workloads, each solo on a GPU");
  ASSERT_EQ(made.sections.size(), 1U);  // no timeline
  ASSERT_EQ(made.sections[0].figures.size(), 2U);
  const auto& shares = std::get<report::GroupedBarChart>(made.sections[0].figures[0].content);
  EXPECT_EQ(shares.categories, (std::vector<std::string>{"first", "second"}));
  ASSERT_EQ(shares.series.size(), 4U);
  EXPECT_EQ(shares.series[1].name, "SMs active");
  EXPECT_EQ(shares.series[1].values[0], 25.0);
  EXPECT_TRUE(std::isnan(shares.series[1].values[1]));
  const auto& kernels = std::get<report::BarChart>(made.sections[0].figures[1].content);
  ASSERT_EQ(kernels.bars.size(), 2U);
  EXPECT_EQ(kernels.bars[0].value, 40.0);
  EXPECT_TRUE(std::isnan(kernels.bars[1].value));
}

TEST(ProfileReport, ATimelineAddsASection) {
  profile::WorkloadProfile profile;
  profile.workload = "first";
  profile.timeline.resize(2);
  profile.timeline[0].seconds = 0.5;
  profile.timeline[0].activity.sm_active = 0.5;
  profile.timeline[1].seconds = 1.0;
  const report::Report made = profile_report(std::array{profile}, "");
  ASSERT_EQ(made.sections.size(), 2U);
  const auto& chart = std::get<report::LineChart>(made.sections[1].figures.at(0).content);
  EXPECT_EQ(chart.xs, (std::vector<double>{0.5, 1.0}));
  EXPECT_EQ(chart.series.at(0).values[0], 50.0);
  EXPECT_TRUE(std::isnan(chart.series.at(0).values[1]));
}

std::vector<simulate::ComparisonRow> two_policies() {
  simulate::SimulationResult run;
  run.makespan_s = 7200.0;
  run.energy_mj = 3.0;
  simulate::ComparisonRow ours;
  ours.policy.text = "carpool";
  ours.runs = {run};
  simulate::ComparisonRow other;
  other.policy.text = "exclusive";
  other.policy.settings.policy = "exclusive";
  run.makespan_s = 14400.0;
  other.runs = {run};
  return {ours, other};
}

TEST(SimulateReport, ComparesPoliciesAndShowsTheJobsOfEachGpu) {
  const simulate::Trace trace;
  const report::Report made = policy_comparison_report(
      {.trace = "small", .cluster = "1x40GiB", .truth = "pairs", .jobs = 3, .gpus = 1},
      trace,
      two_policies(),
      {});
  EXPECT_EQ(made.title, "small on 1x40GiB");
  EXPECT_EQ(made.subtitle, "3 jobs, simulated under 2 policies, 1 runs each");
  ASSERT_EQ(made.sections.size(), 3U);
  EXPECT_EQ(made.sections[0].heading, "Comparison");
  EXPECT_EQ(made.sections[1].heading, "Over time");
  EXPECT_EQ(made.sections[2].heading, "Jobs on each GPU");
  const auto& makespan = std::get<report::BarChart>(made.sections[0].figures.at(0).content);
  ASSERT_EQ(makespan.bars.size(), 2U);
  EXPECT_EQ(makespan.bars[0].value, 7200.0);
  EXPECT_EQ(makespan.bars[0].kind, 0U);  // emphasised
  EXPECT_EQ(makespan.bars[1].value, 14400.0);
  EXPECT_EQ(makespan.bars[1].kind, 1U);
  const auto& power = std::get<report::LineChart>(made.sections[1].figures.at(2).content);
  EXPECT_EQ(power.xs.front(), 0.0);
  EXPECT_EQ(power.xs.back(), 4.0);  // hours, to the end of the longest run
}

// 0.7 + 0.1 - 0.7 - 0.1 is -3e-17, and an axis that holds it begins at -10 %.
TEST(SimulateReport, IdleGpusHaveNoActivityBelowZero) {
  auto rows = two_policies();
  rows.front().runs.front().moments = {{.at_s = 0.0, .gpu = 0, .sm_active = 0.7},
                                       {.at_s = 0.0, .gpu = 1, .sm_active = 0.1},
                                       {.at_s = 60.0, .gpu = 0, .sm_active = 0.0},
                                       {.at_s = 60.0, .gpu = 1, .sm_active = 0.0}};
  const report::Report made = policy_comparison_report({.gpus = 2}, {}, rows, {});
  const auto& active = std::get<report::LineChart>(made.sections[1].figures.at(0).content);
  for (const double value : active.series.front().values) {
    EXPECT_GE(value, 0.0);
  }
  EXPECT_DOUBLE_EQ(active.series.front().values.front(), 40.0);
}

TEST(SimulateReport, ShuffledRunsHaveNoJobsOfTheTraceButAChartByOrder) {
  const simulate::Trace trace;
  const report::Report made =
      policy_comparison_report({.gpus = 1, .shuffled = true}, trace, two_policies(), {});
  ASSERT_EQ(made.sections.size(), 2U);
  EXPECT_EQ(made.sections[0].figures.back().title, "Out of memory by order of the jobs");
}

}  // namespace
}  // namespace carpool::app
