#include "simulate/policy_comparison.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "simulate/tests/small_cluster.hpp"

namespace carpool::simulate {
namespace {

TEST(ComparedPolicy, HasPolicyPreconditionsAndEstimator) {
  const auto one = parse_compared_policy("lug@aegis:horus", {}).value();
  EXPECT_EQ(one.settings.policy, "lug");
  EXPECT_EQ(one.settings.policy_settings.sm_active_limit, 0.65);
  EXPECT_EQ(one.settings.memory, MemorySource::Horus);
  EXPECT_EQ(one.settings.order, schedule::QueueOrder::Fifo);
  EXPECT_EQ(one.settings.recovery, schedule::RecoveryRule::Aegis);
  const auto ours = parse_compared_policy("carpool", {.runtime_error = 0.3}).value();
  EXPECT_EQ(ours.settings.order, schedule::QueueOrder::Fair);
  EXPECT_EQ(ours.settings.recovery, schedule::RecoveryRule::Reserve);
  EXPECT_EQ(ours.settings.memory, MemorySource::None);
  EXPECT_EQ(ours.settings.belief, BeliefKind::Learned);
  EXPECT_EQ(ours.settings.runtime_error, 0.3);
}

TEST(ComparedPolicy, AllHaveTheSameKnowledgeAndOrderUnlessTheyStateIt) {
  for (const char* text : {"exclusive", "magm", "kace", "carpool"}) {
    const auto one = parse_compared_policy(text, {.belief = BeliefKind::Blind, .rates = 0.5});
    EXPECT_EQ(one->settings.order, schedule::QueueOrder::Fair) << text;
    EXPECT_EQ(one->settings.recovery, schedule::RecoveryRule::Reserve) << text;
    EXPECT_EQ(one->settings.memory, MemorySource::None) << text;
    EXPECT_EQ(one->settings.belief, BeliefKind::Blind) << text;
    EXPECT_EQ(one->settings.rates, 0.5) << text;
    EXPECT_TRUE(one->settings.use_history) << text;
  }
  const auto told = parse_compared_policy("magm:told/fifo", {}).value();
  EXPECT_EQ(told.settings.memory, MemorySource::Told);
  EXPECT_EQ(told.settings.order, schedule::QueueOrder::Fifo);
  const auto all = parse_compared_policy("aegis", {.order = schedule::QueueOrder::Hrrn}).value();
  EXPECT_EQ(all.settings.order, schedule::QueueOrder::Hrrn);
}

TEST(ComparedPolicy, AnUnknownNameIsRefusedAndNamed) {
  for (const auto& [text, named] : {std::pair("magn", "\"magn\""),
                                    std::pair("magm@nobody", "\"nobody\""),
                                    std::pair("magm:nothing", "\"nothing\""),
                                    std::pair("magm/nohow", "\"nohow\""),
                                    std::pair("", "\"\"")}) {
    const auto refused = parse_compared_policy(text, {});
    ASSERT_FALSE(refused.has_value()) << text;
    EXPECT_NE(refused.error().message.find(named), std::string::npos) << refused.error().message;
  }
}

TEST(PolicyComparison, RunsEachPolicyOncePerSeed) {
  const Trace trace{.name = "two", .jobs = {test_job(0, 100), test_job(0, 50)}};
  const std::vector<ComparedPolicy> both = {parse_compared_policy("exclusive", {}).value(),
                                            parse_compared_policy("carpool", {}).value()};
  std::size_t progress = 0;
  std::size_t jobs = 0;
  const ComparisonSettings settings{
      .seed = 1, .seeds = 3, .on_jobs = [&](const std::string&, std::size_t more) {
        jobs += more;
      }};
  const auto rows = compare_policies(
      trace, test_cluster(1), test_speeds(), both, settings, [&](const std::string&) {
        ++progress;
      });
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  EXPECT_EQ(progress, 6);
  EXPECT_EQ(jobs, 6 * trace.jobs.size());
  ASSERT_EQ(rows->size(), 2);
  const Spread makespan =
      *(*rows)[0].of([](const SimulationResult& run) { return run.makespan_s; });
  EXPECT_EQ((*rows)[0].runs.size(), 3);
  EXPECT_EQ((*rows)[1].policy.settings.policy, "carpool");
  EXPECT_LT(makespan.least, makespan.mean);
  EXPECT_LT(makespan.mean, makespan.most);
  EXPECT_FALSE((*rows)[0].recovery_median_s().has_value());
}

TEST(PolicyComparison, RunsEveryOrderWithEverySeedAndKeepsAllJobs) {
  const Trace trace{.name = "two", .jobs = {test_job(0, 100), test_job(0, 50, 1, "light")}};
  const ComparisonSettings settings{.seed = 11, .seeds = 2, .shuffles = 3, .keep_jobs = true};
  const auto rows = compare_policies(trace,
                                     test_cluster(1),
                                     test_speeds(),
                                     {parse_compared_policy("exclusive/fifo", {}).value()},
                                     settings,
                                     [](const std::string&) {});
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  ASSERT_EQ((*rows)[0].runs.size(), 6);
  for (std::size_t i = 0; i < 3; ++i) {  // the same order, another seed
    EXPECT_EQ((*rows)[0].runs[i].jobs[0].workload, (*rows)[0].runs[i + 3].jobs[0].workload);
    EXPECT_NE((*rows)[0].runs[i].makespan_s, (*rows)[0].runs[i + 3].makespan_s);
  }
  const std::string table = job_outcomes_csv(*rows, settings);
  EXPECT_EQ(std::ranges::count(table, '\n'), 1 + 6 * 2);
  EXPECT_NE(table.find("policy,seed,order,job,workload,gpus,submitted_s,started_s,ended_s,attempts,"
                       "ends,succeeded\nexclusive/fifo,11,11,1,"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find(",1,succeeded,yes\n"), std::string::npos) << table;
}

}  // namespace
}  // namespace carpool::simulate
