#include "simulate/server_executor.hpp"

#include <gtest/gtest.h>

#include "simulate/tests/small_cluster.hpp"

namespace carpool::simulate {
namespace {

class ServerExecutorTest : public testing::Test {
 protected:
  void launch(JobId job, const JobSpec& spec, std::vector<unsigned> gpus = {0}) {
    const auto launched =
        executor_->launch({.run = {job, 1}, .job = spec, .gpu_indices = std::move(gpus)});
    ASSERT_TRUE(launched) << launched.error().detail;
  }
  [[nodiscard]] std::vector<RunReport> ends() {
    std::vector<RunReport> found = executor_->take_reports();
    std::erase_if(found,
                  [](const RunReport& report) { return report.kind != RunReport::Kind::Ended; });
    return found;
  }

  double now_s_ = 1.7e9;
  std::unique_ptr<SimulatedExecutor> executor_ =
      make_server_executor(test_cluster(2), test_speeds(), [this] { return now_s_; });
};

TEST_F(ServerExecutorTest, AJobThatStatesNothingRunsFiveMinutesWithFourGib) {
  launch(1, {.argv = {"train"}});
  const auto seen = executor_->observe_all();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].used_bytes, 4 * kTestGib);
  ASSERT_EQ(seen[0].jobs.size(), 1U);
  EXPECT_EQ(seen[0].jobs[0].bytes, 4 * kTestGib);
  EXPECT_TRUE(seen[1].jobs.empty());
  now_s_ += 299.0;
  EXPECT_TRUE(ends().empty());
  now_s_ += 2.0;
  const auto reports = ends();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].exit.end, RunEnd::Succeeded);
  EXPECT_NEAR(reports[0].exit.at_s, 1.7e9 + 300.0, 1e-3);
  EXPECT_TRUE(executor_->observe_all()[0].jobs.empty());
}

TEST_F(ServerExecutorTest, JobsSlowEachOtherDownAsTheModelSays) {
  // Half a GPU and a whole one: each runs at 1 / 1.5 of its solo speed while both run.
  launch(1, {.argv = {"train"}, .runtime_s = 100.0, .workload = "middle"});
  launch(2, {.argv = {"train"}, .runtime_s = 200.0, .workload = "heavy"});
  const auto seen = executor_->observe_all();
  ASSERT_TRUE(seen[0].pressure.has_value());
  EXPECT_NEAR(seen[0].pressure->sm_active, 1.0, 1e-12);
  now_s_ += 1000.0;
  const auto reports = ends();
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].run.job, 1);
  EXPECT_NEAR(reports[0].exit.at_s, 1.7e9 + 150.0, 1e-3);
  EXPECT_NEAR(reports[1].exit.at_s, 1.7e9 + 250.0, 1e-3);
}

TEST_F(ServerExecutorTest, NoJobRunsOutOfMemory) {
  launch(1, {.argv = {"train"}, .mem_bytes = 30 * kTestGib, .runtime_s = 10.0});
  launch(2, {.argv = {"train"}, .mem_bytes = 30 * kTestGib, .runtime_s = 10.0});
  EXPECT_EQ(executor_->observe_all()[0].used_bytes, 60 * kTestGib);
  now_s_ += 100.0;
  const auto reports = ends();
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].exit.end, RunEnd::Succeeded);
  EXPECT_EQ(reports[1].exit.end, RunEnd::Succeeded);
}

TEST_F(ServerExecutorTest, AJobEndsAtItsCap) {
  LaunchSpec spec{.run = {1, 1}, .job = {.argv = {"train"}}, .gpu_indices = {0}};
  spec.mechanism = ShareMechanism::Mps;
  spec.memory_limit_bytes = kTestGib;
  ASSERT_TRUE(executor_->launch(spec).has_value());
  now_s_ += 1.0;
  const auto reports = ends();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].exit.end, RunEnd::OutOfMemory);
  EXPECT_EQ(*reports[0].exit.held_bytes + *reports[0].exit.wanted_bytes, 2 * kTestGib);
}

TEST_F(ServerExecutorTest, ObservationsHoldWhatALearnerNeeds) {
  launch(1, {.argv = {"train"}, .runtime_s = 100.0, .workload = "middle"});
  now_s_ += 5.0;
  const GpuObservation seen = executor_->observe_all()[0];
  ASSERT_TRUE(seen.latest.has_value());
  EXPECT_NEAR(seen.latest->sm_active, 0.5, 0.15);
  ASSERT_TRUE(seen.jobs.at(0).rate.has_value());
  EXPECT_GT(seen.jobs.at(0).rate->per_s, 0.0);
  now_s_ += 0.5;
  EXPECT_FALSE(executor_->observe_all()[0].jobs.at(0).rate.has_value());  // nothing new
}

}  // namespace
}  // namespace carpool::simulate
