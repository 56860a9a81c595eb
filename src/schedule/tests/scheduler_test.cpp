#include "schedule/scheduler.hpp"

#include <gtest/gtest.h>

#include "schedule/explain.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

TEST(Scheduler, JobStartsOnlyAfterItsEventsAreDurable) {
  StubServer server;
  const JobId job = server.submit(stub_job(10));
  server.scheduler->step(1.0);
  EXPECT_TRUE(server.executor.running.empty());
  EXPECT_TRUE(server.journal.events.empty());
  ASSERT_TRUE(server.scheduler->flush());
  EXPECT_EQ(server.journal.appends, 1);
  EXPECT_EQ(server.journal.events.size(), 2U);
  EXPECT_TRUE(server.runs(job));
}

TEST(Scheduler, NothingIsOrderedWhenTheJournalFails) {
  StubServer server;
  server.submit(stub_job(10));
  server.journal.failing = true;
  server.step(1.0);
  EXPECT_FALSE(server.flushed);
  EXPECT_TRUE(server.executor.running.empty());
}

TEST(Scheduler, ListenerHearsDurableEventsWithTheirNumbers) {
  StubServer server;
  std::vector<std::int64_t> heard;
  server.scheduler->on_event([&](const JobEvent& event) { heard.push_back(event.sequence); });
  server.submit(stub_job(10));
  EXPECT_TRUE(heard.empty());
  server.step(1.0);
  EXPECT_EQ(heard, (std::vector<std::int64_t>{1, 2}));
}

TEST(Scheduler, SuccessClosesTheJob) {
  StubServer server;
  const JobId job = server.submit(stub_job(10));
  server.step(1.0);
  server.end(job, {.end = RunEnd::Succeeded, .code = 0}, 50.0);
  EXPECT_EQ(server.record(job).state, JobState::Succeeded);
  EXPECT_EQ(server.record(job).code(), "CD");
  EXPECT_DOUBLE_EQ(*server.record(job).ended_s, 50.0);
  EXPECT_TRUE(server.scheduler->gpus()[0].residents.empty());
}

TEST(Scheduler, LaunchThatFailsClosesOnlyThatJob) {
  StubServer server;
  const JobId broken = server.submit(stub_job(10));
  server.executor.refuse_launch = true;
  server.step(1.0);
  EXPECT_EQ(server.record(broken).end, RunEnd::NeverStarted);
  EXPECT_NE(server.record(broken).reason.find("no such program"), std::string::npos);
  server.executor.refuse_launch = false;
  const JobId next = server.submit(stub_job(10), 2.0);
  server.step(2.0);
  EXPECT_TRUE(server.runs(next));
}

TEST(Scheduler, EndIsReportedOnceAndLaterReportsAreIgnored) {
  StubServer server;
  const JobId job = server.submit(stub_job(10));
  server.step(1.0);
  server.end(job, {.end = RunEnd::Succeeded}, 2.0);
  const auto events = server.journal.events.size();
  server.executor.end({job, 1}, {.end = RunEnd::Failed});
  server.executor.end({99, 1}, {.end = RunEnd::Failed});
  server.step(3.0);
  EXPECT_EQ(server.journal.events.size(), events);
}

TEST(Scheduler, RefusesWhatCanNeverRun) {
  StubServer server(2);
  EXPECT_EQ(server.submit({}), 0);
  EXPECT_NE(server.refusal.find("argv"), std::string::npos);
  JobSpec spec = stub_job(10);
  spec.gpus = 3;
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_NE(server.refusal.find("this server has 2"), std::string::npos);
  EXPECT_EQ(server.submit(stub_job(41)), 0);
  EXPECT_NE(server.refusal.find("the largest GPU that the job may use has 40 GiB"),
            std::string::npos);
  spec = stub_job(10);
  spec.after = {7};
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_EQ(server.refusal, "after: there is no job 7");
  spec = stub_job(10);
  spec.argv.emplace_back(std::string("a\0b", 3));
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_NE(server.refusal.find("without zero bytes"), std::string::npos);
  spec = stub_job(10);
  spec.argv.emplace_back("\xff\xfe");
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_NE(server.refusal.find("UTF-8"), std::string::npos);
  spec = stub_job(10);
  spec.time_s = 0.0;
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_EQ(server.refusal, "time_s: 0 is not above 0");
  spec.time_s = 1e308;
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_EQ(server.refusal, "time_s: 1e+308 is more than ten years");
  for (const double begin_s : {-1.0, 1e18}) {
    spec = stub_job(10);
    spec.begin_s = begin_s;
    EXPECT_EQ(server.submit(spec), 0);
    EXPECT_TRUE(server.refusal.starts_with("begin_s: ")) << server.refusal;
  }
  EXPECT_TRUE(server.scheduler->jobs().empty());
}

TEST(Scheduler, OneUserCannotFillTheQueueForEver) {
  StubServer server(1, {.max_queued_per_user = 2});
  EXPECT_NE(server.submit(stub_job(10)), 0);
  EXPECT_NE(server.submit(stub_job(10)), 0);
  EXPECT_EQ(server.submit(stub_job(10)), 0);
  EXPECT_EQ(server.refusal, "u1000 has 2 jobs that have not ended, the maximum for one user");
  EXPECT_NE(server.submit(stub_job(10), 0.0, 1001), 0);
}

TEST(Scheduler, CancelsWaitingJobsAtOnceAndRunningOnesWhenTheyHaveEnded) {
  StubServer server;
  const JobId running = server.submit(stub_job(30));
  const JobId waiting = server.submit(stub_job(30));
  server.step(1.0);
  ASSERT_TRUE(server.scheduler->cancel(waiting, "u1000", 2.0));
  ASSERT_TRUE(server.scheduler->cancel(running, "u1000", 2.0));
  server.step(2.0);
  EXPECT_EQ(server.record(waiting).state, JobState::Cancelled);
  EXPECT_EQ(server.record(running).code(), "CG");
  ASSERT_EQ(server.executor.stops.size(), 1U);
  EXPECT_EQ(server.executor.stops[0].second, StopMode::Ask);
  server.step(31.0);
  EXPECT_EQ(server.executor.stops.size(), 1U);
  server.step(32.0);
  ASSERT_EQ(server.executor.stops.size(), 2U);
  EXPECT_EQ(server.executor.stops[1].second, StopMode::Kill);
  server.end(running, {.end = RunEnd::Failed, .signal = 9}, 33.0);
  EXPECT_EQ(server.record(running).code(), "CA");
  EXPECT_EQ(server.record(running).reason, "cancelled by u1000");
  EXPECT_FALSE(server.scheduler->cancel(running, "u1000", 34.0));
  EXPECT_EQ(server.scheduler->cancel(99, "u1000", 34.0).error().code, ErrorCode::NotFound);
}

TEST(Scheduler, TimeLimitAsksThenKillsAndIsNotRetried) {
  StubServer server;
  JobSpec spec = stub_job(10);
  spec.time_s = 60.0;
  spec.retries = 3;
  const JobId job = server.submit(spec);
  server.step(0.0);
  EXPECT_DOUBLE_EQ(*server.scheduler->next_wakeup_s(), 60.0);
  server.step(60.0);
  ASSERT_EQ(server.executor.stops.size(), 1U);
  EXPECT_DOUBLE_EQ(*server.scheduler->next_wakeup_s(), 90.0);
  server.step(90.0);
  EXPECT_EQ(server.executor.stops.back().second, StopMode::Kill);
  server.end(job, {.end = RunEnd::Failed, .signal = 9}, 91.0);
  EXPECT_EQ(server.record(job).code(), "TO");
  EXPECT_EQ(server.record(job).end, RunEnd::TimeLimit);
}

TEST(Scheduler, HeldJobsDoNotStartUntilReleased) {
  StubServer server;
  const JobId job = server.submit(stub_job(10));
  ASSERT_TRUE(server.scheduler->hold(job, 0.0));
  server.step(1.0);
  EXPECT_EQ(server.record(job).code(), "H");
  EXPECT_NE(server.scheduler->why_waiting(job)->reason.find("held"), std::string::npos);
  ASSERT_TRUE(server.scheduler->release(job, 2.0));
  server.step(2.0);
  EXPECT_TRUE(server.runs(job));
  EXPECT_FALSE(server.scheduler->hold(job, 3.0));
}

TEST(Scheduler, RequeueStopsAndStartsAgainAsAnotherAttempt) {
  StubServer server;
  const JobId job = server.submit(stub_job(10));
  server.step(1.0);
  ASSERT_TRUE(server.scheduler->requeue(job, 2.0));
  server.step(2.0);
  EXPECT_EQ(server.executor.stops.size(), 1U);
  server.end(job, {.end = RunEnd::Succeeded, .code = 0}, 3.0);
  EXPECT_EQ(server.attempt(job), 2U);
  EXPECT_TRUE(server.runs(job));
  EXPECT_FALSE(server.executor.launched_twice);
}

TEST(Scheduler, WaitsForTheJobsItComesAfter) {
  StubServer server(2);
  const JobId first = server.submit(stub_job(10));
  const JobId second = server.submit(stub_job(10));
  JobSpec spec = stub_job(10);
  spec.after = {first, second, first};
  const JobId last = server.submit(spec);
  server.step(0.0);
  EXPECT_NE(server.scheduler->why_waiting(last)->reason.find("succeed: 1 2"), std::string::npos);
  server.end(first, {.end = RunEnd::Succeeded}, 10.0);
  EXPECT_FALSE(server.runs(last));
  server.end(second, {.end = RunEnd::Succeeded}, 20.0);
  EXPECT_TRUE(server.runs(last));
}

TEST(Scheduler, JobAfterAFailedOneIsClosedWithTheReasonAndSoAreJobsAfterIt) {
  StubServer server(1);
  const JobId first = server.submit(stub_job(10));
  JobSpec spec = stub_job(10);
  spec.after = {first};
  const JobId second = server.submit(spec);
  spec.after = {second};
  const JobId third = server.submit(spec);
  server.step(0.0);
  server.end(first, {.end = RunEnd::Failed, .code = 1}, 10.0);
  EXPECT_EQ(server.record(second).reason, "job 1, which it waits for, did not succeed");
  EXPECT_EQ(server.record(third).reason, "job 2, which it waits for, did not succeed");
  spec.after = {first};
  const JobId late = server.submit(spec, 11.0);
  ASSERT_NE(late, 0);
  EXPECT_EQ(server.record(late).state, JobState::Cancelled);
}

TEST(Scheduler, AClosedMachineStartsNothingNew) {
  StubServer server;
  server.scheduler->set_closed("the disk is full");
  const JobId waiting = server.submit(stub_job(10));
  server.step(0.0);
  EXPECT_FALSE(server.runs(waiting));
  EXPECT_EQ(server.scheduler->why_waiting(waiting)->reason, "the disk is full");
  EXPECT_EQ(server.scheduler->why_waiting(waiting)->constraint, Constraint::Machine);
  server.scheduler->set_closed("");
  server.step(1.0);
  EXPECT_TRUE(server.runs(waiting));
}

TEST(Scheduler, DrainingStartsNothingNew) {
  StubServer server;
  const JobId running = server.submit(stub_job(10));
  server.step(0.0);
  server.scheduler->set_draining(true, "by ann since 2026-11-16 18:00:00");
  const JobId waiting = server.submit(stub_job(10), 1.0);
  server.step(1.0);
  EXPECT_TRUE(server.runs(running));
  EXPECT_FALSE(server.runs(waiting));
  EXPECT_EQ(
      server.scheduler->why_waiting(waiting)->reason,
      "drained by ann since 2026-11-16 18:00:00: no further job starts; an operator ends that "
      "with `carpool drain --undo`");
  const auto why = explain(*server.scheduler, waiting);
  EXPECT_TRUE(why->changes.empty());  // no other request would start
  server.scheduler->set_draining(false);
  server.step(2.0);
  EXPECT_TRUE(server.runs(waiting));
}

TEST(Scheduler, SaysWhyAJobWaits) {
  StubServer server(1, {.depth = 2});
  server.submit(stub_job(30));
  const JobId second = server.submit(stub_job(30));
  const JobId third = server.submit(stub_job(30));
  const JobId fourth = server.submit(stub_job(30));
  server.step(0.0);
  EXPECT_FALSE(server.scheduler->why_waiting(1));
  EXPECT_EQ(server.scheduler->why_waiting(second)->constraint, Constraint::Memory);
  EXPECT_EQ(server.scheduler->why_waiting(third)->constraint, Constraint::Memory);
  EXPECT_EQ(server.scheduler->why_waiting(fourth)->reason,
            "not yet considered: 3 jobs may start, the first 2 are considered");
}

TEST(Scheduler, PolicyIsNotAskedWhenNothingChanged) {
  StubServer server;
  server.submit(stub_job(30));
  server.submit(stub_job(30));
  server.step(0.0);
  const int asked = server.policy.calls;
  for (int i = 1; i < 100; ++i) {
    server.step(i);
  }
  EXPECT_EQ(server.policy.calls, asked);
}

TEST(Scheduler, ImpossiblePlacementIsRefusedAndOthersStart) {
  class Wrong final : public PlacementPolicy {
   public:
    [[nodiscard]] std::string_view name() const override { return "wrong"; }
    [[nodiscard]] PlacementDecision decide(
        const ClusterSnapshot& cluster, const InterferenceModel& /*interference*/) const override {
      PlacementDecision decision;
      for (const QueuedJob* job : cluster.queue) {
        const bool odd = job->job % 2 == 1;
        decision.place.push_back({.job = job->job, .gpus = {odd ? 7U : 0U}});
      }
      decision.place.push_back({.job = 999, .gpus = {0}});
      return decision;
    }
  };
  StubJournal journal;
  StubExecutor executor;
  const Wrong policy;
  const StubInterference interference;
  Scheduler scheduler({}, stub_gpus(1), policy, interference, journal, executor);
  ASSERT_TRUE(scheduler.submit(stub_job(1), {}, 0.0));
  ASSERT_TRUE(scheduler.submit(stub_job(1), {}, 0.0));
  scheduler.step(0.0);
  ASSERT_TRUE(scheduler.flush());
  EXPECT_EQ(scheduler.why_waiting(1)->reason,
            "policy \"wrong\" placed it on GPU 7, which does not exist: refused");
  EXPECT_EQ(scheduler.refused_placements(), 2U);  // job 999 is unknown
  EXPECT_TRUE(executor.running.contains({2, 1}));
}

TEST(Scheduler, RecordsOfOldJobsAreDroppedAndTheirIdsNotUsedAgain) {
  StubServer server(1, {.keep_ended = 2});
  for (int i = 0; i < 4; ++i) {
    const JobId job = server.submit(stub_job(10), i);
    server.step(i);
    server.end(job, {.end = RunEnd::Succeeded}, i + 0.5);
  }
  EXPECT_EQ(server.scheduler->jobs(), (std::vector<JobId>{3, 4}));
  EXPECT_EQ(server.submit(stub_job(10), 5.0), 5);
}

}  // namespace
}  // namespace carpool::schedule
