#include "simulate/policy_comparison.hpp"

#include <gtest/gtest.h>

#include "simulate/tests/small_cluster.hpp"

namespace carpool::simulate {
namespace {

TEST(Contestants, SayPolicyPreconditionsAndEstimator) {
  const auto one = parse_contestant("lug@aegis:horus", {}).value();
  EXPECT_EQ(one.settings.policy, "lug");
  EXPECT_EQ(one.settings.policy_settings.sm_active_limit, 0.65);
  EXPECT_EQ(one.settings.memory, MemorySource::Horus);
  EXPECT_EQ(one.settings.order, schedule::QueueOrder::Fifo);
  EXPECT_EQ(one.settings.recovery, schedule::RecoveryRule::Aegis);
  const auto ours = parse_contestant("carpool", {.runtime_error = 0.3}).value();
  EXPECT_EQ(ours.settings.order, schedule::QueueOrder::Fair);
  EXPECT_EQ(ours.settings.recovery, schedule::RecoveryRule::Reserve);
  EXPECT_EQ(ours.settings.memory, MemorySource::Oracle);
  EXPECT_EQ(ours.settings.runtime_error, 0.3);
}

TEST(Contestants, AreRefusedByName) {
  for (const char* wrong : {"magn", "magm@nobody", "magm:nothing", ""}) {
    EXPECT_FALSE(parse_contestant(wrong, {}).has_value()) << wrong;
  }
}

TEST(Contest, RunsEachAsOftenAsAsked) {
  const Trace trace{.name = "two", .jobs = {test_job(0, 100), test_job(0, 50)}};
  const std::vector<Contestant> both = {parse_contestant("exclusive", {}).value(),
                                        parse_contestant("carpool", {}).value()};
  std::size_t told = 0;
  const auto rows = contest(trace,
                            test_cluster(1),
                            test_speeds(),
                            both,
                            {.seed = 1, .seeds = 3},
                            [&](const std::string&) { ++told; });
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  EXPECT_EQ(told, 6);
  ASSERT_EQ(rows->size(), 2);
  const Spread makespan = (*rows)[0].of([](const SimulationResult& run) { return run.makespan_s; });
  EXPECT_LE(makespan.least, makespan.mean);
  EXPECT_LT(makespan.least, makespan.most);
  EXPECT_FALSE((*rows)[0].recovery_median_s().has_value());
}

}  // namespace
}  // namespace carpool::simulate
