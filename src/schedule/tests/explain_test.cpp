#include "schedule/explain.hpp"

#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

const StartingChange* change(const Explanation& explanation, StartingChange::Kind kind) {
  const auto found = std::ranges::find(explanation.changes, kind, &StartingChange::kind);
  return found == explanation.changes.end() ? nullptr : &*found;
}

TEST(Explain, SaysHowMuchLessMemoryWouldDo) {
  StubServer server;
  server.submit(stub_job(12, 300.0));
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  const auto why = explain(*server.scheduler, job);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->binding->constraint, Constraint::Memory);
  ASSERT_EQ(why->changes.front().kind, StartingChange::Kind::LessMemory);
  EXPECT_EQ(why->changes.front().need_bytes, 28 * kGiB);
  EXPECT_EQ(why->changes.front().words, "request 2 GiB less memory: 28 GiB instead of 30 GiB");
  ASSERT_EQ(why->candidates.size(), 1U);
  EXPECT_FALSE(why->candidates[0].takes_it);
  EXPECT_DOUBLE_EQ(*why->candidates[0].job_progress, 0.5);
  EXPECT_EQ(why->summary, "Job 2 is waiting: no room for 30 GiB");
}

TEST(Explain, NamesTheJobToWaitFor) {
  StubServer server(2);
  const JobId longer = server.submit(stub_job(40, 500.0));
  const JobId shorter = server.submit(stub_job(40, 300.0));
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  const auto why = explain(*server.scheduler, job);
  const StartingChange* wait = change(*why, StartingChange::Kind::Wait);
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->until_ends, shorter);
  EXPECT_NE(wait->until_ends, longer);
  EXPECT_DOUBLE_EQ(*wait->wait_s, 300.0);
  EXPECT_EQ(change(*why, StartingChange::Kind::LessMemory), nullptr);
}

TEST(Explain, SuggestsSharingOrFewerGpus) {
  StubServer server(2);
  server.submit(stub_job(10));
  JobSpec spec = stub_job(10);
  spec.exclusive = true;
  spec.gpus = 2;
  const JobId wide = server.submit(spec);
  server.step(0.0);
  const auto why = explain(*server.scheduler, wide);
  const StartingChange* fewer = change(*why, StartingChange::Kind::FewerGpus);
  ASSERT_NE(fewer, nullptr);
  EXPECT_EQ(fewer->gpus, 1U);
  StubServer one;
  one.submit(stub_job(10));
  spec.gpus = 1;
  const JobId alone = one.submit(spec);
  one.step(0.0);
  EXPECT_NE(change(*explain(*one.scheduler, alone), StartingChange::Kind::NotExclusive), nullptr);
}

TEST(Explain, SaysTheStateOnce) {
  StubServer server;
  const JobId runs = server.submit(stub_job(10));
  const JobId held = server.submit(stub_job(10));
  ASSERT_TRUE(server.scheduler->hold(held, 0.0));
  server.step(0.0);
  EXPECT_EQ(explain(*server.scheduler, runs)->summary, "Job 1 is running");
  EXPECT_TRUE(explain(*server.scheduler, runs)->placed);
  EXPECT_EQ(explain(*server.scheduler, held)->summary,
            "Job 2 is waiting: held until it is released");
  EXPECT_TRUE(explain(*server.scheduler, held)->changes.empty());
  EXPECT_FALSE(explain(*server.scheduler, 99));
  server.end(runs, {.end = RunEnd::Failed, .code = 3}, 1.0);
  EXPECT_EQ(explain(*server.scheduler, runs)->summary, "Job 1 failed: exit status 3");
  ASSERT_TRUE(server.scheduler->cancel(held, "ann", 2.0));
  EXPECT_EQ(explain(*server.scheduler, held)->summary, "Job 2 was cancelled: cancelled by ann");
}

}  // namespace
}  // namespace carpool::schedule
