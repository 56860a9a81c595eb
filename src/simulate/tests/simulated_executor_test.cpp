#include "simulate/simulated_executor.hpp"

#include <gtest/gtest.h>

#include "simulate/tests/small_cluster.hpp"

namespace carpool::simulate {
namespace {

class SimulatedExecutorTest : public testing::Test {
 protected:
  SimulatedExecutorTest() {
    trace_.jobs = {test_job(0, 100, 10), test_job(0, 100, 35)};
    options_.constants = plain_constants();
  }
  SimulatedExecutor& executor() {
    made_ = std::make_unique<SimulatedExecutor>(
        work_of_trace(trace_, test_speeds()),
        cluster_,
        test_speeds(),
        [this] { return now_s_; },
        options_);
    return *made_;
  }
  static LaunchSpec spec(JobId job, unsigned attempt = 1) {
    LaunchSpec made;
    made.run = {.job = job, .attempt = attempt};
    made.gpu_indices = {0};
    return made;
  }

  double now_s_ = 0.0;
  Trace trace_{.name = "test"};
  ClusterSpec cluster_ = test_cluster(1);
  SimulatedExecutor::Options options_{};
  std::unique_ptr<SimulatedExecutor> made_;
};

TEST_F(SimulatedExecutorTest, ReportsBeginAndEndOnce) {
  SimulatedExecutor& runs = executor();
  ASSERT_TRUE(runs.launch(spec(1)).has_value());
  now_s_ = 1.0;
  ASSERT_EQ(runs.take_reports().size(), 1);
  now_s_ = 200.0;
  const auto reports = runs.take_reports();
  ASSERT_EQ(reports.size(), 1);
  EXPECT_EQ(reports[0].kind, RunReport::Kind::Ended);
  EXPECT_EQ(reports[0].exit.end, RunEnd::Succeeded);
  EXPECT_NEAR(reports[0].exit.at_s, 100.0, 1e-3);
  EXPECT_TRUE(runs.take_reports().empty());
}

TEST_F(SimulatedExecutorTest, ReportsWhatAJobHeldAndRequestedWhenItRanOutOfMemory) {
  SimulatedExecutor& runs = executor();
  ASSERT_TRUE(runs.launch(spec(1)).has_value());
  now_s_ = 20.0;
  ASSERT_TRUE(runs.launch(spec(2)).has_value());
  now_s_ = 60.0;
  const auto reports = runs.take_reports();
  const auto& last = reports.back();
  EXPECT_EQ(last.run.job, 2);
  EXPECT_EQ(last.exit.end, RunEnd::OutOfMemory);
  EXPECT_LE(10 * kTestGib + *last.exit.held_bytes, 40 * kTestGib);
  EXPECT_GT(10 * kTestGib + *last.exit.held_bytes + *last.exit.wanted_bytes, 40 * kTestGib);
}

TEST_F(SimulatedExecutorTest, ShowsMemoryAsItGrows) {
  SimulatedExecutor& runs = executor();
  ASSERT_TRUE(runs.launch(spec(1)).has_value());
  now_s_ = 1.0;
  auto seen = runs.take_observations();
  ASSERT_EQ(seen.size(), 1);
  EXPECT_EQ(seen[0].used_bytes, 5 * kTestGib);
  ASSERT_EQ(seen[0].jobs.size(), 1);
  EXPECT_EQ(seen[0].jobs[0].job, 1);
  now_s_ = 15.0;
  seen = runs.take_observations();
  ASSERT_EQ(seen.size(), 1);
  EXPECT_EQ(seen[0].used_bytes, 10 * kTestGib);
  ASSERT_TRUE(seen[0].pressure.has_value());
  EXPECT_GT(seen[0].pressure->sm_active, 0.0);
}

TEST_F(SimulatedExecutorTest, StopsOnceAndKnowsWhatRuns) {
  SimulatedExecutor& runs = executor();
  ASSERT_TRUE(runs.launch(spec(1)).has_value());
  now_s_ = 1.0;
  EXPECT_EQ(runs.find(spec(1))->state, FoundRun::State::Running);
  EXPECT_EQ(runs.find(spec(1, 2))->state, FoundRun::State::NeverBegan);
  (void)runs.take_reports();
  runs.stop({.job = 1, .attempt = 1}, StopMode::Ask);
  runs.stop({.job = 1, .attempt = 1}, StopMode::Kill);
  const auto reports = runs.take_reports();
  ASSERT_EQ(reports.size(), 1);
  EXPECT_EQ(reports[0].exit.end, RunEnd::Cancelled);
  now_s_ = 500.0;
  EXPECT_TRUE(runs.take_reports().empty());
  EXPECT_FALSE(runs.launch(spec(99)).has_value());
}

}  // namespace
}  // namespace carpool::simulate
