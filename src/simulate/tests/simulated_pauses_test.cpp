#include <gtest/gtest.h>

#include "simulate/simulated_executor.hpp"
#include "simulate/tests/small_cluster.hpp"

namespace carpool::simulate {
namespace {

// Jobs of 100 s that start after 20 s and grow for 10 s. The first holds 4 GiB, and 10 GiB after 40
// s and another 10 s.
class SimulatedPausesTest : public testing::Test {
 protected:
  SimulatedPausesTest() {
    trace_.jobs = {test_job(0, 100, 10), test_job(0, 100, 10, "heavy"), test_job(0, 100, 35)};
    trace_.jobs[0].early_bytes = 4 * kTestGib;
    options_.constants = plain_constants();
    options_.constants.start_median_s = 20.0;
    options_.constants.start_p95_s = 20.0;
    options_.constants.late_growth_s = 40.0;
    executor_ = std::make_unique<SimulatedExecutor>(
        work_of_trace(trace_, test_speeds()),
        test_cluster(1),
        test_speeds(),
        [this] { return now_s_; },
        options_);
  }
  void launch(JobId job, std::optional<std::uint64_t> cap = {}) {
    LaunchSpec spec{.run = {.job = job, .attempt = 1}, .gpu_indices = {0}};
    spec.mechanism = ShareMechanism::Mps;
    spec.memory_limit_bytes = cap;
    ASSERT_TRUE(executor_->launch(spec).has_value());
  }
  void pause_at(double at_s, JobId job) {
    now_s_ = at_s;
    executor_->pause({.job = job, .attempt = 1});
  }
  void resume_at(double at_s, JobId job) {
    now_s_ = at_s;
    executor_->resume({.job = job, .attempt = 1});
  }
  [[nodiscard]] std::uint64_t used_at(double at_s) {
    now_s_ = at_s;
    return executor_->observe_all()[0].used_bytes;
  }
  [[nodiscard]] std::vector<RunExit> exits_until(double at_s) {
    now_s_ = at_s;
    std::vector<RunExit> exits;
    for (const RunReport& report : executor_->take_reports()) {
      if (report.kind == RunReport::Kind::Ended) {
        exits.push_back(report.exit);
      }
    }
    return exits;
  }

  double now_s_ = 0.0;
  Trace trace_{.name = "test"};
  SimulatedExecutor::Options options_{};
  std::unique_ptr<SimulatedExecutor> executor_;
};

TEST_F(SimulatedPausesTest, StartUpStandsStill) {
  launch(1);
  pause_at(5, 1);
  EXPECT_EQ(used_at(1000), 0);
  resume_at(1000, 1);
  EXPECT_EQ(used_at(1014), 0);
  EXPECT_EQ(used_at(1016), 2 * kTestGib);
  EXPECT_TRUE(exits_until(1114).empty());
  ASSERT_EQ(exits_until(1116).size(), 1);
  EXPECT_NEAR(executor_->runs()[0].ended_s, 1115.0, 1e-3);
  EXPECT_NEAR(executor_->runs()[0].paused_s, 995.0, 1e-3);
  EXPECT_EQ(executor_->runs()[0].pauses, 1);
}

TEST_F(SimulatedPausesTest, GrowthStandsStillAndWorkIsConserved) {
  launch(1);
  pause_at(25, 1);  // 5 s after its first work
  const std::uint64_t used = used_at(26);
  EXPECT_GT(used, 2 * kTestGib);
  EXPECT_EQ(used_at(500), used);
  resume_at(500, 1);
  EXPECT_LT(used_at(504), 4 * kTestGib);
  EXPECT_EQ(used_at(506), 4 * kTestGib);
  EXPECT_EQ(used_at(534), 4 * kTestGib);
  EXPECT_LT(used_at(538), 10 * kTestGib);
  EXPECT_EQ(used_at(546), 10 * kTestGib);
  const auto exits = exits_until(2000);
  ASSERT_EQ(exits.size(), 1);
  EXPECT_EQ(exits[0].end, RunEnd::Succeeded);
  EXPECT_NEAR(exits[0].at_s, 595.0, 1e-3);
}

TEST_F(SimulatedPausesTest, NeighboursRunAsIfItWereNotThere) {
  launch(1);
  launch(2);
  pause_at(20 + 30, 2);  // 30 s at 1 / 1.5 each
  resume_at(20 + 60, 2);
  pause_at(20 + 60, 1);   // 50 s of 100 s are done
  resume_at(20 + 90, 1);  // the other one has done 50 s, too
  const auto exits = exits_until(2000);
  ASSERT_EQ(exits.size(), 2);
  EXPECT_NEAR(exits[0].at_s, 20 + 90 + 75, 1e-3);
  EXPECT_NEAR(exits[1].at_s, 20 + 90 + 75, 1e-3);
}

TEST_F(SimulatedPausesTest, PausingTwiceAndResumingTwiceIsAsOnce) {
  launch(1);
  pause_at(50, 1);
  pause_at(60, 1);
  resume_at(150, 1);
  resume_at(160, 1);
  resume_at(170, 7);
  const auto exits = exits_until(2000);
  ASSERT_EQ(exits.size(), 1);
  EXPECT_NEAR(exits[0].at_s, 220.0, 1e-3);
  pause_at(2001, 1);
  resume_at(2002, 1);
  EXPECT_EQ(executor_->runs()[0].pauses, 1);
}

TEST_F(SimulatedPausesTest, APausedRunCanBeStopped) {
  launch(1);
  pause_at(50, 1);
  now_s_ = 80;
  executor_->stop({.job = 1, .attempt = 1}, StopMode::Ask);
  const auto exits = exits_until(80);
  ASSERT_EQ(exits.size(), 1);
  EXPECT_EQ(exits[0].end, RunEnd::Cancelled);
  EXPECT_EQ(used_at(90), 0);
  EXPECT_NEAR(executor_->runs()[0].paused_s, 30.0, 1e-9);
  EXPECT_TRUE(exits_until(5000).empty());
}

TEST_F(SimulatedPausesTest, APausedRunHoldsItsMemoryAndShowsNoActivity) {
  launch(2);
  pause_at(40, 2);
  now_s_ = 60;
  const GpuObservation seen = executor_->observe_all()[0];
  EXPECT_EQ(seen.used_bytes, 10 * kTestGib);
  ASSERT_EQ(seen.jobs.size(), 1);
  EXPECT_FALSE(seen.jobs[0].rate.has_value());
  ASSERT_TRUE(seen.latest.has_value());
  EXPECT_EQ(seen.latest->sm_active, 0.0);
}

TEST_F(SimulatedPausesTest, ARunEndsAtItsCapAlthoughTheGpuHasRoom) {
  launch(1, 5 * kTestGib);
  EXPECT_EQ(used_at(59), 4 * kTestGib);
  const auto exits = exits_until(61);
  ASSERT_EQ(exits.size(), 1);
  EXPECT_EQ(exits[0].end, RunEnd::OutOfMemory);  // all that a program can say
  EXPECT_EQ(*exits[0].held_bytes, 4 * kTestGib);
  EXPECT_NEAR(static_cast<double>(*exits[0].wanted_bytes), 1.2 * kTestGib, 1.0);
  EXPECT_EQ(executor_->runs()[0].end, RunEnd::OverCap);
}

TEST_F(SimulatedPausesTest, ACapThatIsNotReachedChangesNothingAndTheGpuStillEnds) {
  launch(1, 10 * kTestGib);
  launch(3, 40 * kTestGib);
  const auto exits = exits_until(2000);
  ASSERT_EQ(exits.size(), 2);
  EXPECT_EQ(executor_->runs()[0].end, RunEnd::OutOfMemory);  // the other one held 35 GiB
  EXPECT_EQ(executor_->runs()[1].end, RunEnd::Succeeded);
}

TEST_F(SimulatedPausesTest, WithoutMpsNothingEnforcesACap) {
  LaunchSpec spec{.run = {.job = 1, .attempt = 1}, .gpu_indices = {0}};
  spec.memory_limit_bytes = kTestGib;
  ASSERT_TRUE(executor_->launch(spec).has_value());
  ASSERT_EQ(exits_until(2000).size(), 1);
  EXPECT_EQ(executor_->runs()[0].end, RunEnd::Succeeded);
}

}  // namespace
}  // namespace carpool::simulate
