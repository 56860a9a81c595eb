#include "simulate/policy_comparison.hpp"

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
  EXPECT_EQ(ours.settings.memory, MemorySource::Oracle);
  EXPECT_EQ(ours.settings.runtime_error, 0.3);
}

TEST(ComparedPolicy, AnUnknownNameIsRefusedAndNamed) {
  for (const auto& [text, named] : {std::pair("magn", "\"magn\""),
                                    std::pair("magm@nobody", "\"nobody\""),
                                    std::pair("magm:nothing", "\"nothing\""),
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
  const auto rows = compare_policies(trace,
                                     test_cluster(1),
                                     test_speeds(),
                                     both,
                                     {.seed = 1, .seeds = 3},
                                     [&](const std::string&) { ++progress; });
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  EXPECT_EQ(progress, 6);
  ASSERT_EQ(rows->size(), 2);
  const Spread makespan = (*rows)[0].of([](const SimulationResult& run) { return run.makespan_s; });
  EXPECT_EQ((*rows)[0].runs.size(), 3);
  EXPECT_EQ((*rows)[1].policy.settings.policy, "carpool");
  EXPECT_LT(makespan.least, makespan.mean);
  EXPECT_LT(makespan.mean, makespan.most);
  EXPECT_FALSE((*rows)[0].recovery_median_s().has_value());
}

}  // namespace
}  // namespace carpool::simulate
