#include "simulate/simulation.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "knowledge/pairs/pair_table.hpp"
#include "simulate/tests/small_cluster.hpp"
#include "simulate/trace/generator.hpp"
#include "simulate/validation.hpp"

namespace carpool::simulate {
namespace {

const std::filesystem::path simulation_folder =
    std::filesystem::path(CARPOOL_SOURCE_DIR) / "data/carma-traces";

SimulationResult run(const Trace& trace,
                     const ClusterSpec& cluster,
                     const SimulationSettings& settings) {
  auto result = simulate(trace, cluster, test_speeds(), settings);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
  return std::move(*result);
}

TEST(Simulation, OfExclusiveJobsEqualsAHandComputation) {
  const Trace trace{.name = "three",
                    .jobs = {test_job(0, 100), test_job(10, 50), test_job(20, 30)}};
  const SimulationResult one = run(trace, test_cluster(1), test_settings("exclusive"));
  EXPECT_NEAR(one.makespan_s, 180.0, 1e-3);
  EXPECT_NEAR(*one.mean_jct_s, (100.0 + 140.0 + 160.0) / 3.0, 1e-3);
  EXPECT_NEAR(*one.mean_wait_s, (0.0 + 90.0 + 130.0) / 3.0, 1e-3);
  EXPECT_NEAR(*one.inflation, 1.0, 1e-6);
  const SimulationResult two = run(trace, test_cluster(2), test_settings("exclusive"));
  EXPECT_NEAR(two.makespan_s, 100.0, 1e-3);
  EXPECT_NEAR(*two.mean_jct_s, (100.0 + 50.0 + 70.0) / 3.0, 1e-3);
}

TEST(Simulation, SlowsNeighboursDownWhileTheyAreNeighbours) {
  const Trace trace{.name = "two",
                    .jobs = {test_job(0, 100, 1, "heavy"), test_job(0, 300, 1, "middle")}};
  SimulationSettings settings = test_settings("first-fit");
  const SimulationResult both = run(trace, test_cluster(1), settings);
  // Both at 1/1.5 until 150 s, when the first is done and 200 s of the second are left.
  EXPECT_NEAR(both.jobs[0].ended_s, 150.0, 1e-3);
  EXPECT_NEAR(both.jobs[1].ended_s, 350.0, 1e-3);
}

TEST(Simulation, RunsAJobOnSeveralGpusAtTheSpeedOfTheSlowest) {
  const Trace trace{.name = "several",
                    .jobs = {test_job(0, 100, 1, "middle", 2), test_job(0, 50, 1, "heavy")}};
  SimulationSettings settings = test_settings("first-fit");
  settings.policy_settings.share_several = true;
  const SimulationResult result = run(trace, test_cluster(2), settings);
  // 75 s at 1/1.5 beside the second on one of its GPUs, then solo.
  EXPECT_NEAR(result.jobs[1].ended_s, 75.0, 1e-3);
  EXPECT_NEAR(result.jobs[0].ended_s, 125.0, 1e-3);
}

TEST(Simulation, RunsAJobAgainThatRanOutOfMemory) {
  const Trace trace{.name = "greedy", .jobs = {test_job(0, 500, 30), test_job(0, 500, 20)}};
  SimulationSettings settings = test_settings("carma");
  settings.memory = MemorySource::None;
  settings.recovery = schedule::RecoveryRule::Reserve;
  settings.use_history = false;
  const SimulationResult result = run(trace, test_cluster(1), settings);
  EXPECT_GE(result.out_of_memory, 1);
  EXPECT_EQ(result.failed_jobs, 0);
  EXPECT_GE(result.jobs[1].ends.size(), 2);
  EXPECT_EQ(result.recovery_waits_s.size(), result.out_of_memory);
  EXPECT_GT(result.lost_s, 0.0);
  settings.memory = MemorySource::Told;
  EXPECT_EQ(run(trace, test_cluster(1), settings).out_of_memory, 0);
}

TEST(Simulation, IsEqualForEqualSeedsAndDiffersForOthers) {
  const auto trace = generate_philly(simulation_folder, {.jobs = 150, .days = 0.5, .seed = 3});
  ASSERT_TRUE(trace.has_value());
  const auto speeds = knowledge::PairTable::load(simulation_folder, kTraceContention).value();
  for (const std::string policy : {"carpool", "aegis", "kace"}) {
    SimulationSettings settings{.policy = policy,
                                .policy_settings = policy::default_settings(policy)};
    settings.runtime_error = 0.3;
    const auto one = simulate(*trace, test_cluster(4), *speeds, settings);
    const auto two = simulate(*trace, test_cluster(4), *speeds, settings);
    settings.seed = 9;
    const auto other = simulate(*trace, test_cluster(4), *speeds, settings);
    ASSERT_TRUE(one && two && other) << policy;
    EXPECT_EQ(one->makespan_s, two->makespan_s) << policy;
    EXPECT_EQ(one->energy_mj, two->energy_mj) << policy;
    EXPECT_NE(one->mean_jct_s, other->mean_jct_s) << policy;
  }
}

TEST(Simulation, EndsEveryJobOnceAndStartsNoneBeforeItWasSubmitted) {
  const auto trace = generate_philly(simulation_folder, {.jobs = 300, .days = 0.5, .seed = 5});
  ASSERT_TRUE(trace.has_value());
  const auto speeds = knowledge::PairTable::load(simulation_folder, kTraceContention).value();
  for (const policy::PolicyInfo& policy : policy::placement_policies()) {
    SimulationSettings settings{.policy = std::string(policy.name),
                                .policy_settings = policy::default_settings(policy.name)};
    const auto result = simulate(*trace, test_cluster(8), *speeds, settings);
    ASSERT_TRUE(result.has_value()) << policy.name << ": " << result.error().message;
    std::vector<unsigned> successes(trace->jobs.size(), 0);
    for (const SimulatedRun& one : result->runs) {
      const TraceJob& job = trace->jobs[one.job];
      successes[one.job] += one.end == RunEnd::Succeeded ? 1 : 0;
      EXPECT_GE(one.started_s, job.submit_s) << policy.name;
      EXPECT_EQ(one.gpus.size(), job.gpus) << policy.name;
      if (one.end == RunEnd::Succeeded) {
        EXPECT_GE(one.ended_s - one.started_s, job.solo_s - 1e-3) << policy.name;
      }
    }
    EXPECT_EQ(result->failed_jobs, 0) << policy.name;
    for (const unsigned times : successes) {
      EXPECT_EQ(times, 1) << policy.name;
    }
  }
}

TEST(Simulation, ChargesEnergyForIdleTimeAndForActivity) {
  const Trace trace{.name = "one", .jobs = {test_job(0, 1000)}};
  const SimulationSettings settings = test_settings("exclusive");
  const SimulationResult result = run(trace, test_cluster(2), settings);
  const double joules =
      2.0 * 1000.0 * settings.constants.idle_watts + 1000.0 * 0.5 * settings.constants.slope_watts;
  EXPECT_NEAR(result.energy_mj, joules / 1e6, 1e-6);
  EXPECT_NEAR(result.mean_sm_active, 0.25, 1e-6);
}

TEST(Simulation, WhenATraceBeginsDoesNotMatter) {
  const SimulationSettings settings = test_settings("exclusive");
  const SimulationResult now = run(
      {.name = "now", .jobs = {test_job(0, 1000), test_job(9, 100)}}, test_cluster(1), settings);
  const SimulationResult later =
      run({.name = "later", .jobs = {test_job(1e6, 1000), test_job(1e6 + 9, 100)}},
          test_cluster(1),
          settings);
  EXPECT_NEAR(later.makespan_s, now.makespan_s, 1e-3);
  EXPECT_NEAR(later.energy_mj, now.energy_mj, 1e-6);
  EXPECT_NEAR(later.mean_sm_active, now.mean_sm_active, 1e-6);
}

TEST(Simulation, AJobForWhichTheClusterHasTooFewGpusFailsAndTheOthersRun) {
  const Trace trace{.name = "huge",
                    .jobs = {test_job(0, 10, 1, "middle", 4), test_job(0, 100), test_job(5, 50)}};
  const SimulationResult result = run(trace, test_cluster(2), test_settings("exclusive"));
  EXPECT_EQ(result.failed_jobs, 1);
  EXPECT_FALSE(result.jobs[0].succeeded);
  EXPECT_TRUE(result.jobs[0].ends.empty());
  EXPECT_TRUE(result.jobs[1].succeeded);
  EXPECT_NEAR(*result.mean_jct_s, 75.0, 1e-3);  // of those that finished
  EXPECT_EQ(result.runs[0].job, 1);
}

TEST(Simulation, AJobThatNoGpuCanHoldFailsOnce) {
  const Trace trace{.name = "huge", .jobs = {test_job(0, 100, 50), test_job(0, 100, 5)}};
  for (const char* policy : {"exclusive", "carma", "aegis", "magm", "carpool"}) {
    for (const MemorySource memory : {MemorySource::None, MemorySource::Told}) {
      SimulationSettings settings = test_settings(policy);
      settings.memory = memory;
      settings.recovery = std::string_view(policy) == "carma"   ? schedule::RecoveryRule::Carma
                          : std::string_view(policy) == "aegis" ? schedule::RecoveryRule::Aegis
                                                                : schedule::RecoveryRule::Reserve;
      const SimulationResult result = run(trace, test_cluster(1), settings);
      EXPECT_EQ(result.failed_jobs, 1) << policy;
      EXPECT_FALSE(result.jobs[0].succeeded) << policy;
      EXPECT_LE(result.jobs[0].ends.size(), 5) << policy;
      EXPECT_TRUE(result.jobs[1].succeeded) << policy;
    }
  }
}

// The figures that AEGIS measured on real GPUs.
TEST(Validation, AgreesWithPublishedRuns) {
  const auto made =
      validate_aegis(simulation_folder, kTraceContention, 1, 5, [](const std::string&) {});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  ASSERT_EQ(made->rows.size(), 8);
  for (const ValidationRow& row : made->rows) {
    EXPECT_LE(std::abs(row.makespan_difference()), row.allowed) << row.policy << row.estimator;
    EXPECT_LE(std::abs(row.jct_difference()), row.allowed) << row.policy << row.estimator;
    EXPECT_GT(row.published_p95_s, 0.0);
  }
  EXPECT_GT(made->carma_ratio, 0.6);
  EXPECT_LT(made->carma_ratio, 1.0);
}

}  // namespace
}  // namespace carpool::simulate
