#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

TEST(Restart, FindsRunningWaitingAndEndedJobsAgain) {
  StubServer server;
  const JobId done = server.submit(stub_job(10));
  server.step(0.0);
  server.end(done, {.end = RunEnd::Succeeded}, 1.0);
  const JobId runs = server.submit(stub_job(30), 2.0);
  const JobId waits = server.submit(stub_job(30), 2.0);
  server.step(2.0);
  server.restart(100.0);
  ASSERT_TRUE(server.recovered);
  EXPECT_EQ(server.record(done).code(), "CD");
  EXPECT_EQ(server.record(runs).code(), "R");
  EXPECT_EQ(server.record(waits).code(), "PD");
  EXPECT_EQ(server.scheduler->gpus()[0].residents.size(), 1U);
  EXPECT_EQ(server.submit(stub_job(1), 101.0), 4);
  server.end(runs, {.end = RunEnd::Succeeded}, 110.0);
  EXPECT_TRUE(server.runs(waits));
  EXPECT_FALSE(server.executor.launched_twice);
}

TEST(Restart, KnowsTheEndOfWhatEndedMeanwhile) {
  StubServer server;
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  server.executor.end({job, 1}, {.end = RunEnd::Failed, .code = 3, .at_s = 50.0});
  server.executor.reports.clear();  // no server took it
  server.restart(100.0);
  EXPECT_EQ(server.record(job).code(), "F");
  EXPECT_DOUBLE_EQ(*server.record(job).attempts.back().ended_s, 50.0);
  EXPECT_EQ(server.record(job).attempts.back().exit.code, 3);
}

TEST(Restart, AttemptThatNeverBeganIsTakenBackAndAnotherStarts) {
  StubServer server;
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  server.executor.running.clear();
  server.executor.begun.clear();  // killed between the journal and the launch
  server.restart(1.0);
  EXPECT_EQ(server.record(job).code(), "PD");
  server.step(2.0);
  EXPECT_TRUE(server.executor.running.contains({job, 2}));
  EXPECT_FALSE(server.executor.launched_twice);
}

TEST(Restart, JobThatCannotBeFoundKeepsItsGpuAndIsAskedAboutUntilThereIsAnAnswer) {
  StubServer server;
  const JobId job = server.submit(stub_job(30));
  const JobId next = server.submit(stub_job(30));
  server.step(0.0);
  server.executor.unreadable.insert({job, 1});
  server.restart(1.0);
  EXPECT_EQ(server.record(job).code(), "R");
  EXPECT_EQ(server.scheduler->unknown_attempts(), 1U);
  server.step(1.0);
  EXPECT_EQ(server.scheduler->next_wakeup_s(), 2.0);
  server.step(2.0);
  EXPECT_EQ(server.scheduler->next_wakeup_s(), 4.0);
  EXPECT_FALSE(server.runs(next));
  server.executor.unreadable.clear();
  server.executor.running.erase({job, 1});
  server.executor.exits[{job, 1}] = {.end = RunEnd::Succeeded, .at_s = 3.0};
  server.step(4.0);
  EXPECT_EQ(server.record(job).code(), "CD");
  EXPECT_EQ(server.scheduler->unknown_attempts(), 0U);
  EXPECT_TRUE(server.runs(next));
  EXPECT_FALSE(server.executor.launched_twice);
}

TEST(Restart, JobThatIsFoundLateIsStoppedAsWasRequestedMeanwhile) {
  StubServer server;
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  server.executor.unreadable.insert({job, 1});
  server.restart(1.0);
  ASSERT_TRUE(server.scheduler->cancel(job, "u1000", 1.5));
  server.step(1.5);
  server.executor.unreadable.clear();
  server.executor.stops.clear();
  server.step(2.0);
  ASSERT_EQ(server.executor.stops.size(), 1U);
  EXPECT_EQ(server.executor.stops.front().second, StopMode::Ask);
}

TEST(Restart, JobThatWasAskedToStopIsAskedAgain) {
  StubServer server;
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  ASSERT_TRUE(server.scheduler->cancel(job, "u1000", 1.0));
  server.step(1.0);
  server.executor.stops.clear();
  server.restart(2.0);
  EXPECT_EQ(server.executor.stops.size(), 1U);
  server.step(40.0);
  EXPECT_EQ(server.executor.stops.back().second, StopMode::Kill);
}

TEST(Restart, TimeLimitCountsFromTheStartOfTheAttempt) {
  StubServer server;
  JobSpec spec = stub_job(10);
  spec.time_s = 60.0;
  server.submit(spec);
  server.step(0.0);
  server.restart(100.0);
  server.step(100.0);
  EXPECT_EQ(server.executor.stops.size(), 1U);
}

TEST(Restart, EndWithoutItsConsequenceGetsOne) {
  StubServer server;
  const JobId job = server.submit(stub_job(10));
  server.step(0.0);
  server.end(job, {.end = RunEnd::Succeeded}, 1.0);
  server.journal.events.pop_back();
  server.restart(2.0);
  EXPECT_EQ(server.record(job).code(), "CD");
}

TEST(Restart, EventThatFitsNoJobIsACorruptJournal) {
  StubServer server;
  server.journal.events.push_back({.sequence = 1, .job = 5, .at_s = 0.0, .what = JobHeld{}});
  server.restart(0.0);
  ASSERT_FALSE(server.recovered);
  EXPECT_EQ(server.recovered.error().code, ErrorCode::Corrupt);
}

TEST(Restart, MemoryAndRunTimeOfEarlierRunsAreUsed) {
  StubServer server;
  JobSpec spec{.argv = {"python", "train.py"}};
  const JobId first = server.submit(spec);
  server.step(0.0);
  server.scheduler->observe(
      {.gpu = 0, .used_bytes = 10 * kGiB, .jobs = {{.job = first, .bytes = 10 * kGiB}}}, 5.0);
  server.end(first, {.end = RunEnd::Succeeded}, 200.0);
  server.restart(201.0);
  const JobId again = server.submit(spec, 202.0);
  const auto queued = server.scheduler->queued(again);
  ASSERT_TRUE(queued);
  EXPECT_EQ(queued->need_bytes,
            static_cast<std::uint64_t>(10.3 * static_cast<double>(kGiB)) + kGiB / 4);
  EXPECT_DOUBLE_EQ(*queued->runtime_s, 200.0);
  spec.argv = {"python", "other.py"};
  EXPECT_FALSE(server.scheduler->queued(server.submit(spec, 203.0))->need_bytes);
}

}  // namespace
}  // namespace carpool::schedule
