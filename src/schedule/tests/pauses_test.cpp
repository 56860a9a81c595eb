// Jobs that stand still: time limits, requests to stop, restarts, and who is asked when.
#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

constexpr double kHour = 3600.0;

// Two jobs that share a GPU; both were seen on it.
class PausesTest : public ::testing::Test {
 protected:
  PausesTest() {
    JobSpec limited = stub_job(10);
    limited.time_s = 100.0;
    first_ = server_.submit(stub_job(10));
    second_ = server_.submit(limited);
    server_.step(0.0);
    server_.see({{first_, 5}, {second_, 5}}, 1.0);
  }
  [[nodiscard]] const Resident& resident(JobId job) const {
    const auto& residents = server_.scheduler->gpus()[0].residents;
    return *std::ranges::find(residents, job, &Resident::job);
  }

  StubServer server_;
  JobId first_ = 0;
  JobId second_ = 0;
};

TEST_F(PausesTest, PolicyIsAskedAboutGroupsThoughNobodyWaits) {
  const int before = server_.policy.calls;
  server_.policy.pause = {{.job = second_, .cause = PauseCause::Interference}};
  GpuObservation moved{.gpu = 0, .used_bytes = 10 * kGiB, .pressure = GpuPressure{.sm_active = 1}};
  moved.jobs = {{.job = first_, .bytes = 5 * kGiB}, {.job = second_, .bytes = 5 * kGiB}};
  server_.scheduler->observe(moved, 30.0);
  server_.step(30.0);
  EXPECT_EQ(server_.policy.calls, before + 1);
  EXPECT_TRUE(server_.paused(second_));
  EXPECT_EQ(server_.record(second_).code(), "S");
  EXPECT_EQ(resident(second_).phase, ResidentPhase::Paused);
}

TEST_F(PausesTest, PolicyIsNotAskedAboutGpusWithOneJob) {
  server_.end(second_, {.end = RunEnd::Succeeded}, 2.0);
  const int before = server_.policy.calls;
  for (int second = 3; second < 40; ++second) {
    server_.see({{first_, second % 2 == 0 ? 9U : 5U}}, second);
  }
  EXPECT_EQ(server_.policy.calls, before);
}

TEST_F(PausesTest, PolicyIsAskedAgainWhenItWantsWithNobodyWaiting) {
  server_.policy.ask_again_s = 7.5;
  server_.pause(second_, 31.0);
  EXPECT_DOUBLE_EQ(*server_.scheduler->next_wakeup_s(), 34.0);  // a look at the new group
  server_.step(34.0);                                           // nothing is asked for now
  server_.policy.resume = {{.job = second_}};
  server_.step(41.0);
  EXPECT_FALSE(server_.paused(second_));
}

TEST_F(PausesTest, WakeUpOfThePolicyWithoutGroupsDoesNotRepeat) {
  server_.policy.ask_again_s = 5.0;
  server_.pause(second_, 31.0);
  server_.end(second_, {.end = RunEnd::Succeeded}, 32.0);
  server_.end(first_, {.end = RunEnd::Succeeded}, 33.0);
  for (double now = 34.0; now < 100.0; now += 1.0) {
    server_.step(now);
  }
  EXPECT_FALSE(server_.scheduler->next_wakeup_s());
}

TEST_F(PausesTest, GroupsAreLookedAtAgainWhileTheLearnerHearsOfThem) {
  server_.step(30.0);  // the looks after the start are over
  server_.end(first_, {.end = RunEnd::Succeeded}, 30.0);
  const JobId third = server_.submit(stub_job(10), 30.0);
  server_.step(30.0);
  server_.see({{second_, 5}, {third, 5}}, 30.0);
  int looks = 0;
  for (double now = 31.0; now < 90.0; now += 1.0) {
    const int before = server_.policy.calls;
    server_.step(now);
    looks += server_.policy.calls - before;
  }
  EXPECT_EQ(looks, 3);
}

TEST_F(PausesTest, TimeLimitStandsStill) {
  server_.pause(second_, 50.0);
  server_.see({{first_, 5}, {second_, 5}}, 1000.0);
  EXPECT_EQ(server_.record(second_).code(), "S");
  server_.resume(second_, 1010.0);
  server_.step(1059.0);
  EXPECT_EQ(server_.record(second_).code(), "R");
  server_.step(1060.0);
  EXPECT_EQ(server_.record(second_).code(), "CG");
  EXPECT_EQ(server_.executor.stops.back().first, (RunId{second_, 1}));
}

TEST_F(PausesTest, JobGoesOnBeforeItIsAskedToStop) {
  server_.pause(second_, 10.0);
  ASSERT_TRUE(server_.scheduler->cancel(second_, "ann", 20.0));
  server_.step(20.0);
  EXPECT_FALSE(server_.paused(second_));
  EXPECT_EQ(server_.executor.stops.back().second, StopMode::Ask);
  server_.end(second_, {.end = RunEnd::Failed, .signal = 15}, 21.0);
  EXPECT_EQ(server_.record(second_).code(), "CA");
}

TEST_F(PausesTest, PausedJobThatEndsAnywayEnds) {
  server_.pause(second_, 11.0);
  server_.end(second_, {.end = RunEnd::Failed, .signal = 9, .at_s = 31.0}, 32.0);
  EXPECT_EQ(server_.record(second_).code(), "F");
  const JobAttempt& attempt = server_.record(second_).attempts.back();
  EXPECT_DOUBLE_EQ(attempt.paused_s, 20.0);
  EXPECT_DOUBLE_EQ(attempt.ran_s(32.0), 11.0);
  EXPECT_DOUBLE_EQ(server_.learner.runs.back().ran_s, 11.0);
}

TEST_F(PausesTest, PausedJobIsPausedAgainAfterARestart) {
  server_.pause(second_, 10.0);
  server_.executor.paused.clear();
  server_.restart(20.0);
  EXPECT_TRUE(server_.paused(second_));
  server_.see({{first_, 5}, {second_, 5}}, 21.0);
  server_.resume(second_, 40.0);
  // The order was written and not carried out.
  server_.executor.paused.insert({second_, 1});
  server_.restart(50.0);
  EXPECT_FALSE(server_.paused(second_));
}

TEST_F(PausesTest, JobIsNotPausedWhileNobodyElseComputes) {
  server_.pause(second_, 10.0);
  ASSERT_TRUE(server_.paused(second_));
  server_.end(first_, {.end = RunEnd::Succeeded}, 20.0);
  EXPECT_FALSE(server_.paused(second_));
}

TEST_F(PausesTest, NoPauseLastsForEver) {
  server_.pause(second_, 10.0);
  for (double now = 11.0; now < kHour; now += 60.0) {
    server_.step(now);
  }
  EXPECT_TRUE(server_.paused(second_));
  EXPECT_DOUBLE_EQ(*server_.scheduler->next_wakeup_s(), 10.0 + kHour);
  server_.step(10.0 + kHour);
  EXPECT_FALSE(server_.paused(second_));
}

TEST_F(PausesTest, PausesWorkWhileTheServerDrains) {
  server_.scheduler->set_draining(true);
  server_.pause(second_, 10.0);
  EXPECT_TRUE(server_.paused(second_));
  server_.resume(second_, 20.0);
  EXPECT_FALSE(server_.paused(second_));
}

TEST_F(PausesTest, SloJobsAreNotPaused) {
  JobSpec urgent = stub_job(5);
  urgent.job_class = JobClass::Slo;
  const JobId third = server_.submit(urgent, 5.0);
  server_.step(5.0);
  ASSERT_TRUE(server_.runs(third));
  server_.pause(third, 6.0);
  EXPECT_FALSE(server_.paused(third));
}

TEST(Pauses, OwnerIsNotChargedForThem) {
  StubServer server;
  const JobId busy = server.submit(stub_job(10), 0.0, 1000);
  const JobId still = server.submit(stub_job(10), 0.0, 1001);
  server.step(0.0);
  server.see({{busy, 5}, {still, 5}}, 1.0);
  server.pause(still, 2.0);
  server.step(3000.0);
  server.executor.end({busy, 1}, {.end = RunEnd::Succeeded});
  server.executor.end({still, 1}, {.end = RunEnd::Succeeded});
  server.scheduler->set_draining(true);
  server.step(3000.0);
  const JobId second = server.submit(stub_job(30), 3000.0, 1000);
  const JobId first = server.submit(stub_job(30), 3000.0, 1001);
  server.scheduler->set_draining(false);
  server.step(3000.0);
  EXPECT_TRUE(server.runs(first));
  EXPECT_FALSE(server.runs(second));
}

TEST_F(PausesTest, LearnerHearsWhoComputesAndForHowLong) {
  GpuObservation seen{.gpu = 0, .used_bytes = 10 * kGiB, .latest = GpuPressure{.sm_active = 0.4}};
  seen.jobs = {
      {.job = first_, .bytes = 5 * kGiB, .rate = MeasuredRate{.per_s = 3.0, .over_s = 1.0}},
      {.job = second_, .bytes = 5 * kGiB}};
  server_.scheduler->observe(seen, 11.0);
  const GroupSeen both = server_.learner.groups.back();
  ASSERT_EQ(both.computing.size(), 2U);
  EXPECT_EQ(both.sm_active, 0.4);
  EXPECT_DOUBLE_EQ(both.unchanged_s, 10.0);
  EXPECT_DOUBLE_EQ(both.computing[0].computed_s, 10.0);
  EXPECT_DOUBLE_EQ(both.computing[0].rate->per_s, 3.0);
  EXPECT_FALSE(both.computing[1].rate);
  server_.pause(second_, 20.0);
  server_.scheduler->observe(seen, 25.0);
  const GroupSeen one = server_.learner.groups.back();
  ASSERT_EQ(one.computing.size(), 1U);
  EXPECT_EQ(one.computing[0].job, first_);
  EXPECT_DOUBLE_EQ(one.unchanged_s, 5.0);
}

TEST_F(PausesTest, LearnerHearsOfEndsWithTheBelievedProgress) {
  server_.end(second_, {.end = RunEnd::Succeeded}, 11.0);  // 1 s of start, 10 s at half speed
  const RunSeen& run = server_.learner.runs.back();
  EXPECT_DOUBLE_EQ(run.ran_s, 11.0);
  EXPECT_DOUBLE_EQ(*run.starting_s, 1.0);
  EXPECT_DOUBLE_EQ(run.progress, 6.0 / 11.0);
  EXPECT_EQ(run.peak_bytes, 5 * kGiB);
  EXPECT_EQ(server_.record(second_).attempts.back().progress, 6.0 / 11.0);
  server_.restart(20.0);
  server_.see({{first_, 5}}, 21.0);
  server_.end(first_, {.end = RunEnd::Succeeded}, 30.0);
  EXPECT_FALSE(server_.learner.runs.back().starting_s);  // seen before the restart or not
}

}  // namespace
}  // namespace carpool::schedule
