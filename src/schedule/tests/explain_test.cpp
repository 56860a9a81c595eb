#include "schedule/explain.hpp"

#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

const StartingChange* change(const Explanation& explanation, StartingChange::Kind kind) {
  const auto found = std::ranges::find(explanation.changes, kind, &StartingChange::kind);
  return found == explanation.changes.end() ? nullptr : &*found;
}

TEST(Explain, TellsHowMuchLessMemoryWouldDo) {
  StubServer server;
  server.submit(stub_job(12, 300.0));
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  const auto told = explain(*server.scheduler, job);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->binding->constraint, Constraint::Memory);
  ASSERT_EQ(told->changes.front().kind, StartingChange::Kind::LessMemory);
  EXPECT_EQ(told->changes.front().need_bytes, 28 * kGiB);
  EXPECT_EQ(told->changes.front().words, "ask for 2 GiB less: 28 GiB instead of 30 GiB");
  ASSERT_EQ(told->candidates.size(), 1U);
  EXPECT_FALSE(told->candidates[0].takes_it);
  EXPECT_DOUBLE_EQ(*told->candidates[0].job_progress, 0.5);
  EXPECT_NE(told->summary.find("ask for 2 GiB less"), std::string::npos);
}

TEST(Explain, TellsWhomToWaitFor) {
  StubServer server(2);
  const JobId longer = server.submit(stub_job(40, 500.0));
  const JobId shorter = server.submit(stub_job(40, 300.0));
  const JobId job = server.submit(stub_job(30));
  server.step(0.0);
  const auto told = explain(*server.scheduler, job);
  const StartingChange* wait = change(*told, StartingChange::Kind::Wait);
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->until_ends, shorter);
  EXPECT_NE(wait->until_ends, longer);
  EXPECT_DOUBLE_EQ(*wait->wait_s, 300.0);
  EXPECT_EQ(change(*told, StartingChange::Kind::LessMemory), nullptr);
}

TEST(Explain, TellsThatSharingOrFewerGpusWouldDo) {
  StubServer server(2);
  server.submit(stub_job(10));
  JobSpec spec = stub_job(10);
  spec.exclusive = true;
  spec.gpus = 2;
  const JobId wide = server.submit(spec);
  server.step(0.0);
  const auto told = explain(*server.scheduler, wide);
  const StartingChange* fewer = change(*told, StartingChange::Kind::FewerGpus);
  ASSERT_NE(fewer, nullptr);
  EXPECT_EQ(fewer->gpus, 1U);
  StubServer one;
  one.submit(stub_job(10));
  spec.gpus = 1;
  const JobId alone = one.submit(spec);
  one.step(0.0);
  EXPECT_NE(change(*explain(*one.scheduler, alone), StartingChange::Kind::NotExclusive), nullptr);
}

TEST(Explain, HeldAndRunningJobsAreToldAsSuch) {
  StubServer server;
  const JobId runs = server.submit(stub_job(10));
  const JobId held = server.submit(stub_job(10));
  ASSERT_TRUE(server.scheduler->hold(held, 0.0));
  server.step(0.0);
  EXPECT_EQ(explain(*server.scheduler, runs)->summary, "job 1 runs");
  EXPECT_TRUE(explain(*server.scheduler, runs)->placed);
  EXPECT_NE(explain(*server.scheduler, held)->summary.find("held"), std::string::npos);
  EXPECT_TRUE(explain(*server.scheduler, held)->changes.empty());
  EXPECT_FALSE(explain(*server.scheduler, 99));
}

}  // namespace
}  // namespace carpool::schedule
