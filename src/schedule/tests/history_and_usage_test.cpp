// What the scheduler remembers of workloads and of users.
#include <gtest/gtest.h>

#include "core/job_history.hpp"
#include "schedule/fair_usage.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

constexpr std::uint64_t kMargin = std::uint64_t{256} << 20U;

PastRun succeeded(double run_s, std::uint64_t peak_bytes) {
  return {.end = RunEnd::Succeeded, .run_s = run_s, .peak_bytes = peak_bytes};
}

TEST(JobHistory, NeedIsTheHighestPeakOfTheLastFinishedRunsWithRoom) {
  JobHistory history;
  EXPECT_FALSE(history.need(1, "w"));
  history.learn(1, "w", succeeded(1.0, 2000));
  history.learn(1, "w", succeeded(1.0, 5000));
  EXPECT_EQ(history.need(1, "w")->bytes, 5150U + kMargin);
  EXPECT_TRUE(history.need(1, "w")->finished);
  for (int i = 0; i < 8; ++i) {
    history.learn(1, "w", succeeded(1.0, 100));
  }
  EXPECT_EQ(history.need(1, "w")->bytes, 103U + kMargin);
  EXPECT_FALSE(history.need(1, "other"));
}

TEST(JobHistory, ARunThatDidNotFinishTellsWhatWasSeen) {
  JobHistory history;
  history.learn(1, "w", {.end = RunEnd::Failed, .run_s = 5.0, .peak_bytes = 1000});
  EXPECT_FALSE(history.need(1, "w")) << "it may have failed before it used the GPU";
  history.learn(1, "w", {.end = RunEnd::Cancelled, .run_s = 100.0, .peak_bytes = 1000});
  EXPECT_EQ(history.need(1, "w")->bytes, 1100U + kMargin);
  EXPECT_FALSE(history.need(1, "w")->finished);
  history.learn(1, "w", succeeded(100.0, 900));
  EXPECT_FALSE(history.need(1, "w")->finished) << "the other run used more";
  for (int i = 0; i < 8; ++i) {
    history.learn(1, "w", succeeded(100.0, 900));
  }
  EXPECT_TRUE(history.need(1, "w")->finished) << "the other run is long ago";
}

TEST(JobHistory, ThePeakOfARunThatHadTooLittleIsOnlyALowerBound) {
  JobHistory history;
  history.learn(1, "w", {.end = RunEnd::OverCap, .run_s = 2.0, .peak_bytes = 1000});
  EXPECT_EQ(history.need(1, "w")->bytes, 2000U + kMargin);
  EXPECT_FALSE(history.need(1, "w")->finished);
  history.learn(1, "w", succeeded(2.0, 1500));
  EXPECT_EQ(history.need(1, "w")->bytes, 1545U + kMargin);
  EXPECT_TRUE(history.need(1, "w")->finished);
}

TEST(JobHistory, RunTimeIsTheMedianOfSuccessfulRunsAtSoloSpeed) {
  JobHistory history;
  history.learn(1, "w", {.end = RunEnd::Failed, .run_s = 100.0, .peak_bytes = 1});
  EXPECT_FALSE(history.runtime_s(1, "w"));
  history.learn(1, "w", {.end = RunEnd::Succeeded, .run_s = 200.0, .progress = 0.5});
  history.learn(1, "w", {.end = RunEnd::Succeeded, .run_s = 120.0});
  history.learn(1, "w", {.end = RunEnd::Succeeded, .run_s = 5000.0});
  EXPECT_DOUBLE_EQ(*history.runtime_s(1, "w"), 120.0);
}

TEST(JobHistory, AnUnknownWorkloadUsuallyTakesWhatFirstRunsOfItsUserTook) {
  JobHistory history;
  EXPECT_FALSE(history.usual_runtime_s(1));
  history.learn(1, "a", succeeded(100.0, 1));
  for (int i = 0; i < 5; ++i) {
    history.learn(1, "a", succeeded(900.0, 1));  // known by now: says nothing of unknown ones
  }
  history.learn(1, "b", succeeded(300.0, 1));
  history.learn(1, "c", succeeded(200.0, 1));
  EXPECT_DOUBLE_EQ(*history.usual_runtime_s(1), 200.0);
  EXPECT_DOUBLE_EQ(*history.usual_runtime_s(2), 200.0) << "of all users";
  history.learn(2, "a", succeeded(10.0, 1));
  EXPECT_DOUBLE_EQ(*history.usual_runtime_s(2), 10.0);
}

TEST(JobHistory, UsersDoNotLearnFromEachOther) {
  JobHistory history;
  history.learn(1, "w", succeeded(10.0, 1000));
  history.learn(2, "w", succeeded(90.0, 9000));
  EXPECT_EQ(history.need(1, "w")->peak_bytes, 1000U);
  EXPECT_DOUBLE_EQ(*history.runtime_s(1, "w"), 10.0);
  EXPECT_FALSE(history.need(3, "w"));
  EXPECT_FALSE(history.runtime_s(3, "w"));
}

TEST(JobHistory, AnotherUsersJobOfTheSameNameChangesNoReservation) {
  StubServer server;
  JobSpec spec{.argv = {"train"}, .workload = "resnet"};
  const JobId first = server.submit(spec, 0.0, 1000);
  server.step(0.0);
  server.scheduler->observe(
      {.gpu = 0, .used_bytes = 10 * kGiB, .jobs = {{.job = first, .bytes = 10 * kGiB}}}, 5.0);
  server.end(first, {.end = RunEnd::Succeeded}, 20.0);
  server.scheduler->set_draining(true);
  EXPECT_TRUE(server.scheduler->queued(server.submit(spec, 21.0, 1000))->need_bytes);
  EXPECT_FALSE(server.scheduler->queued(server.submit(spec, 21.0, 1001))->need_bytes);
  EXPECT_FALSE(server.scheduler->queued(server.submit(spec, 21.0, 1001))->runtime_s);
  server.restart(30.0);
  EXPECT_FALSE(server.scheduler->queued(server.submit(spec, 31.0, 1001))->need_bytes);
}

TEST(FairUsage, CountsWhatRunsAndForgetsByHalfEveryHalfDay) {
  FairUsage usage;
  usage.began(1, 2.0, 0.0);
  usage.began(2, 1.0, 0.0);
  EXPECT_DOUBLE_EQ(usage.mean(100.0), 150.0);
  EXPECT_DOUBLE_EQ(usage.weight(1, 100.0, 200.0), 1.0 / 16.0);
  EXPECT_DOUBLE_EQ(usage.weight(3, 100.0, 150.0), 1.0);
  usage.ended(1, 2.0, 0.0, 100.0);
  usage.ended(2, 1.0, 0.0, 100.0);
  EXPECT_NEAR(usage.mean(100.0 + 12.0 * 3600.0), 75.0, 1e-9);
}

TEST(FairUsage, UserWithManyJobsDoesNotPushOutAnother) {
  StubServer server(1);
  for (int i = 0; i < 100; ++i) {
    server.submit(stub_job(40, 100.0), 0.0, 1000);
  }
  server.step(0.0);
  for (JobId job = 1; job <= 20; ++job) {
    server.end(job, {.end = RunEnd::Succeeded}, 100.0 * static_cast<double>(job));
  }
  const JobId other = server.submit(stub_job(40, 100.0), 2050.0, 2000);
  server.end(21, {.end = RunEnd::Succeeded}, 2100.0);
  EXPECT_TRUE(server.runs(other));
}

TEST(Reservation, HoldsBetweenStartAndPeakSoThatTheGpuDoesNotLookFree) {
  StubServer server(1);
  server.submit(stub_job(30, 1000.0));
  server.step(0.0);
  server.scheduler->observe({.gpu = 0, .used_bytes = kGiB, .jobs = {{.job = 1, .bytes = kGiB}}},
                            5.0);
  const JobId second = server.submit(stub_job(20, 1000.0), 6.0);
  server.step(6.0);
  EXPECT_FALSE(server.runs(second));
  for (const double now : {100.0, 305.0}) {
    server.scheduler->observe({.gpu = 0, .used_bytes = kGiB, .jobs = {{.job = 1, .bytes = kGiB}}},
                              now);
    server.step(now);
  }
  EXPECT_TRUE(server.runs(second));
}

TEST(Backfill, AJobThatMustWaitDoesNotStopOthersBehindIt) {
  StubServer server(1, {.order = QueueOrder::Fifo});
  server.submit(stub_job(20));
  const JobId large = server.submit(stub_job(30));
  const JobId small = server.submit(stub_job(10));
  server.step(0.0);
  EXPECT_FALSE(server.runs(large));
  EXPECT_TRUE(server.runs(small));
}

}  // namespace
}  // namespace carpool::schedule
