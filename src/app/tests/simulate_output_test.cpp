#include "app/output/simulate_output.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/tests/fixtures.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

// Two runs: makespans 100 and 300 s (mean 200), 1 and 2 attempts out of memory (mean 1.5), waits
// after running out of memory of 10, 20 and 60 s (median 20).
std::vector<simulate::ComparisonRow> one_policy() {
  simulate::SimulationResult first;
  first.makespan_s = 100.0;
  first.mean_jct_s = 40.4;
  first.p95_jct_s = 90.0;
  first.mean_wait_s = 5.0;
  first.inflation = 1.25;
  first.out_of_memory = 1;
  first.over_cap = 2;
  first.pauses = 3;
  first.energy_mj = 1.5;
  first.mean_sm_active = 0.5;
  first.recovery_waits_s = {10.0};
  simulate::SimulationResult second = first;
  second.makespan_s = 300.0;
  second.out_of_memory = 2;
  second.failed_jobs = 1;
  second.recovery_waits_s = {20.0, 60.0};
  simulate::ComparisonRow row;
  row.policy.text = "magm:none";
  row.policy.preconditions = "carma";
  row.policy.settings.policy = "magm";
  row.policy.settings.order = schedule::QueueOrder::Fifo;
  row.policy.settings.recovery = schedule::RecoveryRule::Carma;
  row.policy.settings.memory = simulate::MemorySource::None;
  row.runs = {first, second};
  return {row};
}

TEST(SimulateOutput, FiguresOfAPolicyAreMeansOverItsRuns) {
  EXPECT_EQ(with_bars(policy_comparison_table(one_policy(), /*colour=*/false)),
            "policy | memory | order | makespan s | mean JCT s | p95 JCT s | mean wait s | "
            "execution x | failed | OOM | over cap | pauses | energy MJ | SMACT | recovery s\n"
            "magm:none | none | fifo | 200 (100-300) | 40 (40-40) | 90 | 5 | 1.25 | 0.5 | 1.5 | "
            "2.0 | 3.0 | 1.50 | 0.500 | 20\n");
}

TEST(SimulateOutput, OneRunHasNoRange) {
  auto rows = one_policy();
  rows[0].runs.resize(1);
  EXPECT_NE(with_bars(policy_comparison_table(rows, false)).find("| fifo | 100 | 40 | 90 |"),
            std::string::npos);
}

TEST(SimulateOutput, RunsInWhichNoJobSucceededDoNotCountInMeansOverJobs) {
  auto rows = one_policy();
  simulate::SimulationResult failed;
  failed.makespan_s = 20.0;
  failed.failed_jobs = 1;
  rows[0].runs[1] = failed;
  const json mixed = policy_comparison_json({}, rows).at("rows").at(0);
  EXPECT_EQ(mixed.at("mean_jct_s").at("mean"), 40.4);
  EXPECT_EQ(mixed.at("makespan_s").at("mean"), 60.0);
  rows[0].runs = {failed};
  EXPECT_NE(
      with_bars(policy_comparison_table(rows, false)).find("| fifo | 20 | - | - | - | - | 1.0"),
      std::string::npos);
  EXPECT_EQ(policy_comparison_json({}, rows).at("rows").at(0).at("mean_jct_s"), nullptr);
}

TEST(SimulateOutput, WithoutAnAttemptOutOfMemoryRecoveryIsADash) {
  auto rows = one_policy();
  for (simulate::SimulationResult& run : rows[0].runs) {
    run.recovery_waits_s.clear();
  }
  EXPECT_TRUE(with_bars(policy_comparison_table(rows, false)).ends_with(" | 0.500 | -\n"));
  EXPECT_EQ(policy_comparison_json({}, rows).at("rows").at(0).at("recovery_wait_median_s"),
            nullptr);
}

TEST(SimulateOutput, JsonHasTheSpreadOfEveryFigure) {
  const json out = policy_comparison_json({.trace = "philly60",
                                           .cluster = "3xA100-40",
                                           .truth = "pairs",
                                           .belief = "learned",
                                           .jobs = 60,
                                           .runs = 2,
                                           .shuffled = true},
                                          one_policy());
  EXPECT_EQ(out.at("trace"), "philly60");
  EXPECT_EQ(out.at("cluster"), "3xA100-40");
  EXPECT_EQ(out.at("truth"), "pairs");
  EXPECT_EQ(out.at("belief"), "learned");
  EXPECT_EQ(out.at("jobs"), 60);
  EXPECT_EQ(out.at("runs"), 2);
  EXPECT_EQ(out.at("shuffled"), true);
  const json& row = out.at("rows").at(0);
  EXPECT_EQ(row.at("policy"), "magm:none");
  EXPECT_EQ(row.at("preconditions"), "carma");
  EXPECT_EQ(row.at("estimator"), "none");
  EXPECT_EQ(row.at("order"), "fifo");
  EXPECT_EQ(row.at("recovery"), "carma");
  EXPECT_EQ(row.at("runtime_error"), nullptr);
  EXPECT_EQ(row.at("makespan_s"), json::parse(R"({"mean": 200.0, "least": 100.0, "most": 300.0})"));
  EXPECT_EQ(row.at("failed_jobs"), json::parse(R"({"mean": 0.5, "least": 0.0, "most": 1.0})"));
  EXPECT_EQ(row.at("over_cap").at("mean"), 2.0);
  EXPECT_EQ(row.at("recovery_wait_median_s"), 20.0);
}

// 110 against 100 published: +10 %, within the allowed 15 %; JCT 40 against 50: -20 %, outside.
simulate::ValidationRow validation_row() {
  simulate::ValidationRow row;
  row.policy = "LUG";
  row.estimator = "Horus";
  row.allowed = 0.15;
  row.published_makespan_s = 100.0;
  row.published_jct_s = 50.0;
  row.published_p95_s = 80.0;
  row.published_execution_s = 30.0;
  row.published_out_of_memory = 3.0;
  row.makespan_s = {.mean = 110.0, .least = 105.0, .most = 115.0};
  row.jct_s = {.mean = 40.0};
  row.p95_s = {.mean = 60.0};
  row.execution_s = {.mean = 31.0};
  row.out_of_memory = {.mean = 2.5};
  return row;
}

TEST(SimulateOutput, AValidationRowIsMetIfBothDifferencesAreAllowed) {
  simulate::ValidationRow good = validation_row();
  good.jct_s.mean = 50.0;
  good.fitted = true;
  EXPECT_EQ(
      with_bars(validation_table({validation_row(), good}, /*colour=*/false)),
      "policy | estimator | makespan s | published s | diff % | mean JCT s | published s | "
      "diff % | p95 JCT s | published s | diff % | OOM | published | recovery s | "
      "allowed % | met\n"
      "LUG | Horus | 110 | 100 | +10.0 | 40 | 50 | -20.0 | 60 | 80 | -25.0 | 2.5 | 3 | - | 15 "
      "| NO\n"
      "LUG | Horus (fitted) | 110 | 100 | +10.0 | 50 | 50 | +0.0 | 60 | 80 | -25.0 | 2.5 | 3 "
      "| - | 15 | yes\n");
}

TEST(SimulateOutput, AContentionFactorIsJudgedByDifferencesAndRanks) {
  simulate::ValidationRow other = validation_row();
  other.published_makespan_s = 200.0;
  other.makespan_s.mean = 220.0;
  other.recovery_s = 25.0;
  const std::vector<simulate::Validation> factors = {
      {.contention = 1.4, .rows = {validation_row(), other}, .carma_ratio = 0.75}};
  EXPECT_EQ(
      with_bars(contention_table(factors, /*colour=*/false)),
      "factor | makespan diff % | rank | mean JCT diff % | rank | p95 JCT diff % | rank | OOM "
      "| published | recovery s | CARMA ratio | published\n"
      "1.4 | 10.0 | 1.00 | 20.0 | - | 25.0 | - | 5.0 | 6 | 25 | 0.750 | 0.702\n");
}

TEST(SimulateOutput, ValidationJsonHasNullForEnergyThatWasNotPublished) {
  const json out = validation_json({{.contention = 1.9, .rows = {validation_row()}}}, 5);
  EXPECT_EQ(out.at("runs"), 5);
  const json& row = out.at("rows").at(0);
  EXPECT_EQ(row.at("met"), false);
  EXPECT_EQ(row.at("fitted_on"), false);
  EXPECT_NEAR(row.at("makespan_difference").get<double>(), 0.1, 1e-12);
  EXPECT_EQ(row.at("makespan_s").at("most"), 115.0);
  EXPECT_EQ(row.at("published_energy_mj"), nullptr);
}

}  // namespace
}  // namespace carpool::app
