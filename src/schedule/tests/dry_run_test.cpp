#include "schedule/advice/dry_run.hpp"

#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

const JobOwner asking_user{.uid = 1000, .user = "u1000"};

DryRun asked(const StubServer& server, const JobSpec& spec, bool hold = false) {
  const auto answer = dry_run(*server.scheduler, spec, asking_user, hold);
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
  return answer.value_or(DryRun{});
}

TEST(DryRun, SaysWhereAJobWouldStartAndHowFastAllWouldBe) {
  StubServer server(2);
  const JobId large = server.submit(stub_job(35));
  const JobId small = server.submit(stub_job(20));
  server.step(0.0);
  const DryRun answer = asked(server, stub_job(10));
  ASSERT_TRUE(answer.arrival.starts);
  EXPECT_EQ(answer.arrival.starts->gpus, std::vector<unsigned>{1});
  EXPECT_EQ(answer.memory, "told 10 GiB");
  ASSERT_EQ(answer.neighbours.size(), 1U);
  EXPECT_EQ(answer.neighbours[0].job, small);
  EXPECT_NE(answer.neighbours[0].job, large);
  EXPECT_DOUBLE_EQ(answer.neighbours[0].now->progress, 1.0);
  EXPECT_DOUBLE_EQ(answer.neighbours[0].then->progress, 0.5);
  EXPECT_DOUBLE_EQ(answer.speed->progress, 0.5);
  EXPECT_FALSE(answer.arrival.waits);
}

TEST(DryRun, HasNoSpeedOfAJobThatWouldRunAlone) {
  const StubServer server;
  const DryRun answer = asked(server, stub_job(10));
  ASSERT_TRUE(answer.arrival.starts);
  EXPECT_FALSE(answer.speed);
  EXPECT_TRUE(answer.neighbours.empty());
}

TEST(DryRun, SaysWhyAJobWouldWaitAndForWhom) {
  StubServer server;
  const JobId runs = server.submit(stub_job(35, 300.0));
  server.submit(stub_job(30));
  server.step(0.0);
  const DryRun answer = asked(server, stub_job(20));
  EXPECT_FALSE(answer.arrival.starts);
  EXPECT_EQ(answer.arrival.waits->constraint, Constraint::Memory);
  EXPECT_EQ(answer.arrival.waits->reason, "no room for 20 GiB");
  EXPECT_EQ(answer.arrival.ahead, 1U);
  EXPECT_EQ(answer.changes.back().until_ends, runs);
  EXPECT_DOUBLE_EQ(*answer.changes.back().wait_s, 300.0);
  EXPECT_EQ(answer.candidates.size(), 1U);
}

TEST(DryRun, KnowsWhatKeepsAJobFromBeingConsidered) {
  StubServer server;
  const JobId before = server.submit(stub_job(10));
  server.step(0.0);
  EXPECT_EQ(asked(server, stub_job(10), true).arrival.waits->reason, "held until it is released");
  JobSpec after = stub_job(10);
  after.after = {before};
  const DryRun dependent = asked(server, after);
  EXPECT_EQ(dependent.arrival.waits->reason, "waiting for jobs to succeed: 1");
  EXPECT_EQ(dependent.changes.at(0).until_ends, before);
  EXPECT_DOUBLE_EQ(*dependent.changes.at(0).wait_s, 100.0);
  EXPECT_TRUE(asked(server, after, true).changes.empty());
  server.end(before, {.end = RunEnd::Failed, .code = 1}, 1.0);
  EXPECT_EQ(asked(server, after).arrival.cancelled->reason,
            "job 1, which it waits for, did not succeed");
  server.scheduler->set_draining(true, "by root since noon");
  const DryRun drained = asked(server, stub_job(10));
  EXPECT_NE(drained.arrival.waits->reason.find("drained by root since noon"), std::string::npos);
  EXPECT_TRUE(drained.changes.empty());
}

TEST(DryRun, CountsJobsThatGoFirstWhereNoneOvertakes) {
  StubServer server(1, {.depth = 2, .backfill = false});
  server.submit(stub_job(30));
  server.submit(stub_job(30));
  server.step(0.0);
  JobSpec urgent = stub_job(5);
  urgent.priority = 7;
  EXPECT_TRUE(asked(server, urgent).arrival.starts);
  const DryRun behind = asked(server, stub_job(5));
  EXPECT_EQ(behind.arrival.waits->constraint, Constraint::Order);
  EXPECT_EQ(behind.arrival.ahead, 1U);
  server.submit(stub_job(30));
  server.step(0.0);
  EXPECT_EQ(asked(server, stub_job(5)).arrival.waits->reason,
            "not yet considered: 3 jobs may start, the first 2 are considered");
}

TEST(DryRun, RefusesWhatASubmissionRefusesAndNeedsNoPlace) {
  StubServer server(1, {.max_queued_per_user = 1});
  JobSpec wide = stub_job(10);
  wide.gpus = 2;
  const auto refused = dry_run(*server.scheduler, wide, asking_user, false);
  EXPECT_EQ(server.submit(wide), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, server.refusal);
  EXPECT_TRUE(server.scheduler->has_place(asking_user, 1));
  EXPECT_FALSE(server.scheduler->has_place(asking_user, 2));
  server.submit(stub_job(10));
  server.step(0.0);
  EXPECT_TRUE(asked(server, stub_job(10)).arrival.starts);
  const auto full = server.scheduler->has_place(asking_user, 1);
  EXPECT_EQ(server.submit(stub_job(10)), 0);
  EXPECT_EQ(full.error().message, server.refusal);
}

}  // namespace
}  // namespace carpool::schedule
