#include "schedule/waiting_line.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

using Ids = std::vector<JobId>;

double all_equal(std::uint32_t /*uid*/) {
  return 1.0;
}

Waiting waiting(JobId job, double since_s, double runtime_s) {
  return {.job = job, .uid = 1, .since_s = since_s, .expected_s = runtime_s};
}

TEST(WaitingLine, FifoGoesBySubmission) {
  WaitingLine line(QueueOrder::Fifo, {});
  line.enter(waiting(2, 0.0, 1.0));
  line.enter(waiting(3, 0.0, 9.0));
  line.enter(waiting(1, 5.0, 5.0));
  EXPECT_EQ(line.front(10, 10.0, all_equal).jobs, (Ids{1, 2, 3}));
  EXPECT_EQ(line.front(2, 10.0, all_equal).jobs, (Ids{1, 2}));
  line.leave(2);
  EXPECT_EQ(line.front(10, 10.0, all_equal).jobs, (Ids{1, 3}));
}

TEST(WaitingLine, ShortestGoesByRunTime) {
  WaitingLine line(QueueOrder::Shortest, {});
  line.enter(waiting(1, 0.0, 100.0));
  line.enter(waiting(2, 0.0, 300.0));
  line.enter(waiting(4, 0.0, 100.5));
  EXPECT_EQ(line.front(10, 10.0, all_equal).jobs, (Ids{1, 4, 2}));
}

TEST(WaitingLine, HrrnLetsWaitingMakeUpForLength) {
  WaitingLine line(QueueOrder::Hrrn, {});
  line.enter(waiting(1, 0.0, 1000.0));
  line.enter(waiting(2, 900.0, 50.0));
  EXPECT_EQ(line.front(10, 1000.0, all_equal).jobs, (Ids{2, 1}));  // 2.0 and 3.0
  EXPECT_EQ(line.front(10, 900.0, all_equal).jobs, (Ids{1, 2}));   // 1.9 and 1.0
}

TEST(WaitingLine, ClassThenPriorityThenRecoveringGoFirst) {
  WaitingLine line(QueueOrder::Fifo, {});
  Waiting job = waiting(1, 0.0, 1.0);
  job.job_class = JobClass::BestEffort;
  job.priority = 9;
  line.enter(job);
  line.enter(waiting(2, 0.0, 1.0));
  job = waiting(3, 0.0, 1.0);
  job.priority = 5;
  line.enter(job);
  job = waiting(4, 0.0, 1.0);
  job.recovering = true;
  line.enter(job);
  job = waiting(5, 0.0, 1.0);
  job.job_class = JobClass::Slo;
  line.enter(job);
  job = waiting(6, 0.0, 1.0);
  job.first = true;
  job.job_class = JobClass::BestEffort;
  line.enter(job);
  EXPECT_EQ(line.front(10, 0.0, all_equal).jobs, (Ids{6, 5, 3, 4, 2, 1}));
}

TEST(WaitingLine, PriorityOfAnOlderJournalCountsAsTheNearestOfTheRange) {
  WaitingLine line(QueueOrder::Fifo, {});
  line.enter({.job = 1, .priority = std::numeric_limits<int>::min()});
  line.enter({.job = 2, .priority = 0});
  line.enter({.job = 3, .priority = std::numeric_limits<int>::max()});
  line.enter({.job = 4, .priority = -1000});
  EXPECT_EQ(line.front(4, 0.0, [](std::uint32_t) { return 1.0; }).jobs,
            (std::vector<JobId>{3, 2, 1, 4}));
}

TEST(WaitingLine, FairPutsTheUserWithLessUsageFirst) {
  WaitingLine line(QueueOrder::Fair, {});
  Waiting mine = waiting(1, 0.0, 100.0);
  Waiting yours = waiting(2, 0.0, 100.0);
  yours.uid = 2;
  line.enter(mine);
  line.enter(yours);
  const auto weight = [](std::uint32_t uid) { return uid == 1 ? 0.5 : 1.0; };
  EXPECT_EQ(line.front(10, 50.0, weight).jobs, (Ids{2, 1}));
  EXPECT_EQ(line.front(10, 50.0, all_equal).jobs, (Ids{1, 2}));
}

TEST(WaitingLine, ImpatientJobsGoInTurnWithOthersWhateverTheirPriority) {
  WaitingLine line(QueueOrder::Fair, {.wait_s = 1000.0, .wait_runs = 2.0, .others = 2});
  Waiting low = waiting(1, 0.0, 700.0);
  low.job_class = JobClass::BestEffort;
  line.enter(low);
  Waiting high = waiting(2, 1300.0, 10.0);
  high.priority = 100;
  line.enter(high);
  EXPECT_EQ(line.front(10, 1399.0, all_equal).impatient, Ids{});
  EXPECT_EQ(line.next_impatient_s(1399.0), 1400.0);
  EXPECT_EQ(line.front(10, 1400.0, all_equal).jobs, (Ids{2, 1}));
  EXPECT_EQ(line.front(10, 1400.0, all_equal).impatient, Ids{1});
  line.took_turn();
  line.started();
  EXPECT_EQ(line.front(10, 1500.0, all_equal).impatient, Ids{});
  line.started();
  EXPECT_EQ(line.front(10, 1500.0, all_equal).impatient, Ids{1});
}

TEST(WaitingLine, PatienceIsLongAgainstTheRunTimeAndTheSameForEveryNumberOfGpus) {
  WaitingLine line(QueueOrder::Fair, {});
  Waiting wide = waiting(1, 0.0, 100.0);
  wide.gpus = 2;
  line.enter(wide);
  EXPECT_EQ(line.next_impatient_s(0.0), 4 * 3600.0);
  line.enter(waiting(2, 0.0, 3600.0));
  EXPECT_EQ(line.next_impatient_s(4 * 3600.0), 5 * 3600.0);
}

TEST(WaitingLine, LongLineHasTheSameOrderAsAFreshOne) {
  WaitingLine line(QueueOrder::Fair, {});
  std::vector<Waiting> all;
  for (JobId job = 1; job <= 2000; ++job) {
    Waiting one =
        waiting(job, static_cast<double>(job), 10.0 + static_cast<double>(job * 37 % 500));
    one.uid = static_cast<std::uint32_t>(job % 7);
    all.push_back(one);
    line.enter(one);
  }
  const auto weight = [](std::uint32_t uid) { return 1.0 / (1.0 + uid); };
  const Ids first = line.front(50, 3000.0, weight).jobs;
  for (const JobId job : Ids(first.begin(), first.begin() + 20)) {
    line.leave(job);
    std::erase_if(all, [&](const Waiting& one) { return one.job == job; });
  }
  Waiting urgent = waiting(5000, 3000.0, 10.0);
  urgent.priority = 1;
  Waiting late = waiting(5001, 3000.0, 1000.0);
  for (const Waiting& one : {urgent, late}) {
    line.enter(one);
    all.push_back(one);
  }
  WaitingLine fresh(QueueOrder::Fair, {});
  for (const Waiting& one : all) {
    fresh.enter(one);
  }
  const Ids again = line.front(50, 3000.0, weight).jobs;
  EXPECT_EQ(again.front(), 5000);
  EXPECT_EQ(again, fresh.front(50, 3000.0, weight).jobs);
}

TEST(WaitingLine, LongLineIsSortedAnewAfterAWhile) {
  WaitingLine line(QueueOrder::Hrrn, {});
  for (JobId job = 1; job <= 1000; ++job) {
    line.enter(waiting(job, 0.0, 10'000.0));
  }
  EXPECT_EQ(line.front(10, 100.0, all_equal).jobs.front(), 1);
  line.enter(waiting(1001, 100.0, 1.0));
  EXPECT_EQ(line.front(10, 121.0, all_equal).jobs.front(), 1001);
}

// The documented bound: the job starts at the latest when the jobs that were on the reserved GPUs
// as it became impatient have ended, however many shorter jobs of higher priority come.
TEST(WaitingLine, NoJobStarvesBehindAStreamOfSmallerJobs) {
  StubServer server(2, {.patience = {.wait_s = 500.0, .wait_runs = 1.0}});
  JobSpec wide = stub_job(30, 100.0);
  wide.gpus = 2;
  server.submit(stub_job(30, 90.0));
  server.submit(stub_job(30, 120.0));
  server.step(0.0);
  const JobId victim = server.submit(wide, 1.0);
  std::map<JobId, double> ends;
  double started = -1.0;
  for (double now = 1.0; now < 5000.0 && started < 0.0; now += 10.0) {
    JobSpec small = stub_job(30, 100.0);
    small.priority = 10;
    server.submit(small, now, 1001);
    for (const auto& [run, spec] : std::map(server.executor.running)) {
      const double begun = server.record(run.job).attempts.back().started_s;
      if (run.job != victim && now - begun >= *spec.job.runtime_s) {
        server.executor.end(run, {.end = RunEnd::Succeeded});
      }
    }
    server.step(now);
    started = server.runs(victim) ? now : -1.0;
  }
  ASSERT_GT(started, 0.0) << "never started";
  EXPECT_GE(started, 501.0);
  EXPECT_LE(started, 501.0 + 130.0 + 20.0);  // patience, the longest run, two turns of this loop
}

TEST(WaitingLine, NoGpuIsReservedForAJobThatFitsOnNone) {
  StubServer server(1, {.patience = {.wait_s = 10.0, .wait_runs = 0.1}});
  server.scheduler->observe({.gpu = 0, .used_bytes = kGiB, .foreign_bytes = kGiB}, 0.0);
  const JobId impossible = server.submit(stub_job(40, 1.0));  // a foreign process holds 1 of 40 GiB
  server.step(0.0);
  server.step(20.0);
  const JobId other = server.submit(stub_job(10, 1.0), 21.0);
  server.step(21.0);
  EXPECT_FALSE(server.runs(impossible));
  EXPECT_TRUE(server.runs(other));
}

TEST(WaitingLine, ShortJobsUseReservedGpusUntilTheyAreNeeded) {
  StubServer server(2, {.patience = {.wait_s = 10.0, .wait_runs = 0.1}});
  server.submit(stub_job(40, 1000.0));
  server.step(0.0);
  JobSpec wide = stub_job(40, 50.0);
  wide.gpus = 2;
  const JobId job = server.submit(wide, 1.0);
  server.step(1.0);
  server.step(20.0);
  EXPECT_FALSE(server.runs(job));
  const JobId lasting = server.submit(stub_job(40, 5000.0), 21.0);
  const JobId brief = server.submit(stub_job(40, 100.0), 21.0);
  server.step(21.0);
  EXPECT_FALSE(server.runs(lasting));
  EXPECT_TRUE(server.runs(brief));
}

TEST(WaitingLine, ATimeLimitLetsAJobUseReservedGpus) {
  StubServer server(2, {.patience = {.wait_s = 10.0, .wait_runs = 0.1}});
  server.submit(stub_job(40, 1000.0));
  server.step(0.0);
  JobSpec wide = stub_job(40, 50.0);
  wide.gpus = 2;
  server.submit(wide, 1.0);
  server.step(20.0);
  JobSpec limited = stub_job(40);
  limited.time_s = 900.0;
  const JobId in_time = server.submit(limited, 21.0);
  limited.time_s = 1900.0;
  const JobId too_long = server.submit(limited, 21.0);
  server.step(21.0);
  EXPECT_TRUE(server.runs(in_time));
  EXPECT_FALSE(server.runs(too_long));
}

TEST(WaitingLine, AnImpatientJobThatFitsNowhereDoesNotKeepTheNextOneWaiting) {
  StubServer server(2, {.patience = {.wait_s = 10.0, .wait_runs = 0.1}});
  server.scheduler->observe({.gpu = 0, .used_bytes = kGiB, .foreign_bytes = kGiB}, 0.0);
  server.scheduler->observe({.gpu = 1, .used_bytes = kGiB, .foreign_bytes = kGiB}, 0.0);
  const JobId impossible = server.submit(stub_job(40, 1.0));
  server.submit(stub_job(30, 1000.0));
  server.step(0.0);
  JobSpec wide = stub_job(30, 50.0);
  wide.gpus = 2;
  const JobId second = server.submit(wide, 1.0);
  server.step(30.0);
  const JobId lasting = server.submit(stub_job(30, 5000.0), 31.0);
  server.step(31.0);
  EXPECT_FALSE(server.runs(impossible));
  EXPECT_FALSE(server.runs(second));
  EXPECT_FALSE(server.runs(lasting)) << "GPU 1 is reserved for the second";
}

// A job that needed more than its cap waits from its submission on, not from its return.
TEST(WaitingLine, AJobThatReachedItsCapKeepsItsPlace) {
  StubServer server(1, {.order = QueueOrder::Fifo});
  const JobId first = server.submit(stub_job(40, 100.0), 0.0);
  server.step(0.0);
  server.submit(stub_job(40, 100.0), 1.0);
  server.end(first, {.end = RunEnd::OutOfMemory, .wanted_bytes = kGiB, .held_bytes = kGiB}, 50.0);
  EXPECT_TRUE(server.runs(first));
}

TEST(WaitingLine, WhatARunTeachesMovesTheJobsThatWait) {
  StubServer server(1, {.order = QueueOrder::Shortest});
  JobSpec quick{.argv = {"quick"}, .mem_bytes = 30 * kGiB, .workload = "quick"};
  JobSpec slow{.argv = {"slow"}, .mem_bytes = 30 * kGiB, .runtime_s = 600.0, .workload = "slow"};
  const JobId first = server.submit(quick, 0.0);
  server.step(0.0);
  const JobId told = server.submit(slow, 1.0);
  const JobId second = server.submit(quick, 2.0);  // 2,400 s while nothing is known
  server.end(first, {.end = RunEnd::Succeeded}, 60.0);
  EXPECT_TRUE(server.runs(second));
  EXPECT_FALSE(server.runs(told));
}

TEST(WaitingLine, ReservationEndsWithItsJob) {
  StubServer server(2, {.patience = {.wait_s = 10.0, .wait_runs = 0.1}});
  server.submit(stub_job(40, 1000.0));
  server.step(0.0);
  JobSpec wide = stub_job(40, 50.0);
  wide.gpus = 2;
  const JobId job = server.submit(wide, 1.0);
  server.step(20.0);
  ASSERT_TRUE(server.scheduler->cancel(job, "u1000", 21.0));
  server.step(21.0);
  const JobId lasting = server.submit(stub_job(40, 5000.0), 22.0);
  server.step(22.0);
  EXPECT_TRUE(server.runs(lasting));
}

}  // namespace
}  // namespace carpool::schedule
