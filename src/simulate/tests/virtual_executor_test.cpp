#include "simulate/virtual_executor.hpp"

#include <gtest/gtest.h>

#include "simulate/tests/small_cluster.hpp"

namespace carpool::simulate {
namespace {

class VirtualExecutorTest : public testing::Test {
 protected:
  VirtualExecutorTest() {
    trace_.jobs = {test_job(0, 100, 10), test_job(0, 100, 35)};
    options_.constants = plain_physics();
  }
  VirtualExecutor& executor() {
    made_ = std::make_unique<VirtualExecutor>(trace_, cluster_, test_speeds(), options_);
    return *made_;
  }
  static LaunchSpec spec(JobId job, unsigned attempt = 1) {
    LaunchSpec made;
    made.run = {.job = job, .attempt = attempt};
    made.gpu_indices = {0};
    return made;
  }

  Trace trace_{.name = "test"};
  ClusterSpec cluster_ = test_cluster(1);
  VirtualExecutor::Options options_{};
  std::unique_ptr<VirtualExecutor> made_;
};

TEST_F(VirtualExecutorTest, ReportsBeginningAndEndOnce) {
  VirtualExecutor& runs = executor();
  ASSERT_TRUE(runs.launch(spec(1)).has_value());
  runs.advance(1.0);
  ASSERT_EQ(runs.take_reports().size(), 1);
  runs.advance(200.0);
  const auto reports = runs.take_reports();
  ASSERT_EQ(reports.size(), 1);
  EXPECT_EQ(reports[0].kind, RunReport::Kind::Ended);
  EXPECT_EQ(reports[0].exit.end, RunEnd::Succeeded);
  EXPECT_NEAR(reports[0].exit.at_s, 100.0, 1e-3);
  EXPECT_TRUE(runs.take_reports().empty());
}

TEST_F(VirtualExecutorTest, TellsWhoRanOutOfMemoryWhatItHeldAndWanted) {
  VirtualExecutor& runs = executor();
  ASSERT_TRUE(runs.launch(spec(1)).has_value());
  runs.advance(20.0);
  ASSERT_TRUE(runs.launch(spec(2)).has_value());
  runs.advance(60.0);
  const auto reports = runs.take_reports();
  const auto& last = reports.back();
  EXPECT_EQ(last.run.job, 2);
  EXPECT_EQ(last.exit.end, RunEnd::OutOfMemory);
  EXPECT_EQ(*last.exit.held_bytes + *last.exit.wanted_bytes, 35 * kTestGib);
}

TEST_F(VirtualExecutorTest, ShowsMemoryAsItGrows) {
  VirtualExecutor& runs = executor();
  ASSERT_TRUE(runs.launch(spec(1)).has_value());
  runs.advance(1.0);
  auto seen = runs.take_observations();
  ASSERT_EQ(seen.size(), 1);
  EXPECT_EQ(seen[0].used_bytes, 5 * kTestGib);
  ASSERT_EQ(seen[0].jobs.size(), 1);
  EXPECT_EQ(seen[0].jobs[0].job, 1);
  runs.advance(15.0);
  seen = runs.take_observations();
  ASSERT_EQ(seen.size(), 1);
  EXPECT_EQ(seen[0].used_bytes, 10 * kTestGib);
  ASSERT_TRUE(seen[0].pressure.has_value());
  EXPECT_GT(seen[0].pressure->sm_active, 0.0);
}

TEST_F(VirtualExecutorTest, StopsOnceAndKnowsWhatRuns) {
  VirtualExecutor& runs = executor();
  ASSERT_TRUE(runs.launch(spec(1)).has_value());
  runs.advance(1.0);
  EXPECT_EQ(runs.find(spec(1))->state, FoundRun::State::Running);
  EXPECT_EQ(runs.find(spec(1, 2))->state, FoundRun::State::NeverBegan);
  (void)runs.take_reports();
  runs.stop({.job = 1, .attempt = 1}, StopMode::Ask);
  runs.stop({.job = 1, .attempt = 1}, StopMode::Kill);
  const auto reports = runs.take_reports();
  ASSERT_EQ(reports.size(), 1);
  EXPECT_EQ(reports[0].exit.end, RunEnd::Cancelled);
  runs.advance(500.0);
  EXPECT_TRUE(runs.take_reports().empty());
  EXPECT_FALSE(runs.launch(spec(99)).has_value());
}

}  // namespace
}  // namespace carpool::simulate
