// What the scheduler remembers of workloads and of users.
#include <gtest/gtest.h>

#include "core/job_history.hpp"
#include "core/workload_identity.hpp"
#include "schedule/fair_usage.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

TEST(JobHistory, NeedIsTheHighestOfTheLastPeaksWithRoom) {
  JobHistory history;
  EXPECT_FALSE(history.need_bytes(1, "w"));
  for (const std::uint64_t peak : {5000U, 1000U, 2000U}) {
    history.learn(1, "w", {.end = RunEnd::Failed, .peak_bytes = peak});
  }
  EXPECT_EQ(history.need_bytes(1, "w"), 5250U);
  for (int i = 0; i < 8; ++i) {
    history.learn(1, "w", {.end = RunEnd::Succeeded, .run_s = 1.0, .peak_bytes = 100});
  }
  EXPECT_EQ(history.need_bytes(1, "w"), 105U);
  EXPECT_FALSE(history.need_bytes(1, "other"));
}

TEST(JobHistory, RunTimeIsTheMedianOfSuccessfulRunsAtSoloSpeed) {
  JobHistory history;
  history.learn(1, "w", {.end = RunEnd::Failed, .run_s = 1.0, .peak_bytes = 1});
  EXPECT_FALSE(history.runtime_s(1, "w"));
  history.learn(1, "w", {.end = RunEnd::Succeeded, .run_s = 200.0, .progress = 0.5});
  history.learn(1, "w", {.end = RunEnd::Succeeded, .run_s = 120.0});
  history.learn(1, "w", {.end = RunEnd::Succeeded, .run_s = 5000.0});
  EXPECT_DOUBLE_EQ(*history.runtime_s(1, "w"), 120.0);
}

TEST(JobHistory, UsersDoNotLearnFromEachOther) {
  JobHistory history;
  history.learn(1, "w", {.end = RunEnd::Succeeded, .run_s = 10.0, .peak_bytes = 1000});
  history.learn(2, "w", {.end = RunEnd::Succeeded, .run_s = 90.0, .peak_bytes = 9000});
  EXPECT_EQ(history.need_bytes(1, "w"), 1050U);
  EXPECT_DOUBLE_EQ(*history.runtime_s(1, "w"), 10.0);
  EXPECT_FALSE(history.need_bytes(3, "w"));
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
