// Jobs that are changed after their submission, and jobs that wait for the end of others.
#include <gtest/gtest.h>

#include "schedule/scheduler.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

TEST(Update, AWaitingJobGetsAnotherPlaceAndAnotherMemory) {
  StubServer server(1);
  const JobId running = server.submit(stub_job(30));
  server.step(0.0);
  const JobId first = server.submit(stub_job(30), 1.0);
  const JobId second = server.submit(stub_job(30), 2.0);
  server.step(2.0);
  EXPECT_FALSE(server.runs(first) || server.runs(second));
  ASSERT_TRUE(server.scheduler->update(second, {.by = "u1000", .priority = 5}, 3.0));
  server.step(3.0);
  server.end(running, {.end = RunEnd::Succeeded}, 4.0);
  EXPECT_TRUE(server.runs(second));
  EXPECT_FALSE(server.runs(first));
  ASSERT_TRUE(server.scheduler->update(first, {.by = "u1000", .mem_bytes = 5 * kGiB}, 5.0));
  server.step(5.0);
  EXPECT_TRUE(server.runs(first));
  EXPECT_EQ(server.record(first).attempts.front().start.reserved_bytes, 5 * kGiB);
}

TEST(Update, SurvivesARestart) {
  StubServer server(1);
  const JobId job = server.submit(stub_job(10));
  ASSERT_TRUE(server.scheduler->hold(job, 0.0));
  const JobUpdated change{
      .by = "u1000", .time_s = 7.0, .priority = -3, .job_class = JobClass::BestEffort};
  ASSERT_TRUE(server.scheduler->update(job, change, 1.0));
  server.step(1.0);
  server.restart(2.0);
  EXPECT_EQ(server.record(job).spec.time_s, 7.0);
  EXPECT_EQ(server.record(job).spec.priority, -3);
  EXPECT_EQ(server.record(job).spec.job_class, JobClass::BestEffort);
  EXPECT_EQ(server.record(job).state, JobState::Held);
}

TEST(Update, AJobThatLeavesItsClassLosesItsSlo) {
  StubServer server(1);
  JobSpec spec = stub_job(10);
  spec.job_class = JobClass::Slo;
  spec.slo_ms = 20.0;
  spec.quantile = 0.95;
  const JobId job = server.submit(spec);
  ASSERT_TRUE(server.scheduler->hold(job, 0.0));
  ASSERT_TRUE(server.scheduler->update(job, {.by = "u", .priority = 1}, 1.0));
  EXPECT_EQ(server.record(job).spec.slo_ms, 20.0);
  ASSERT_TRUE(server.scheduler->update(job, {.by = "u", .job_class = JobClass::Normal}, 1.0));
  EXPECT_FALSE(server.record(job).spec.slo_ms || server.record(job).spec.quantile);
}

TEST(Submission, AnSloIsOfItsClassAndCanBeMeasured) {
  StubServer server(1);
  const auto refused = [&](JobClass job_class, std::optional<double> slo_ms, double quantile) {
    JobSpec spec = stub_job(10);
    spec.job_class = job_class;
    spec.slo_ms = slo_ms;
    spec.quantile = quantile;
    const auto taken = server.scheduler->submit(spec, {.uid = 1000, .user = "u"}, 0.0);
    return taken ? std::string() : taken.error().message;
  };
  EXPECT_NE(refused(JobClass::Normal, 20.0, 0.99).find("set the class to slo"), std::string::npos);
  EXPECT_NE(refused(JobClass::Slo, 1e300, 0.99).find("slo_ms: 1e+300"), std::string::npos);
  EXPECT_NE(refused(JobClass::Slo, 0.0, 0.99).find("slo_ms: 0 is not between 0.001 and 3600000"),
            std::string::npos);
  EXPECT_NE(refused(JobClass::Slo, 1e-7, 0.99).find("slo_ms: 1e-07"), std::string::npos);
  EXPECT_NE(refused(JobClass::Slo, 20.0, 0.5).find("quantile: 0.5"), std::string::npos);
  EXPECT_NE(refused(JobClass::Slo, std::nullopt, 0.9).find("set slo_ms, too"), std::string::npos);
}

TEST(Update, OnlyTheTimeLimitOfARunningJobChanges) {
  StubServer server(1);
  JobSpec spec = stub_job(10);
  spec.time_s = 10.0;
  const JobId job = server.submit(spec);
  server.step(0.0);
  ASSERT_TRUE(server.runs(job));
  for (const JobUpdated& change : {JobUpdated{.by = "u", .mem_bytes = kGiB},
                                   JobUpdated{.by = "u", .priority = 1},
                                   JobUpdated{.by = "u", .job_class = JobClass::BestEffort}}) {
    const auto done = server.scheduler->update(job, change, 5.0);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::Conflict);
    EXPECT_NE(done.error().message.find("carpool requeue 1"), std::string::npos);
  }
  EXPECT_FALSE(server.scheduler->update(job, {.by = "u", .time_s = 4.0}, 5.0));  // it ran for 5 s
  ASSERT_TRUE(server.scheduler->update(job, {.by = "u", .time_s = 30.0}, 5.0));
  server.step(15.0);
  EXPECT_EQ(server.record(job).state, JobState::Running);
  server.step(31.0);
  EXPECT_EQ(server.record(job).state, JobState::Stopping);
  EXPECT_EQ(server.record(job).stop_by, kByTimeLimit);
}

TEST(Update, IsCheckedAsASubmissionIs) {
  StubServer server(1);
  const JobId job = server.submit(stub_job(10));
  ASSERT_TRUE(server.scheduler->hold(job, 0.0));
  for (const JobUpdated& change : {JobUpdated{.by = "u", .mem_bytes = 10'000 * kGiB},
                                   JobUpdated{.by = "u", .priority = 5000},
                                   JobUpdated{.by = "u", .time_s = -1.0}}) {
    EXPECT_FALSE(server.scheduler->update(job, change, 1.0));
  }
  EXPECT_EQ(server.record(job).spec.mem_bytes, 10 * kGiB);
  EXPECT_FALSE(server.scheduler->update(9, {.by = "u", .priority = 1}, 1.0));
}

TEST(AfterAny, StartsAfterAnyEnd) {
  StubServer server(1);
  const JobId first = server.submit(stub_job(10));
  JobSpec spec = stub_job(10);
  spec.after_any = {first};
  const JobId second = server.submit(spec);
  server.step(0.0);
  EXPECT_NE(server.scheduler->why_waiting(second)->reason.find("to end: 1"), std::string::npos);
  server.end(first, {.end = RunEnd::Failed, .code = 1}, 10.0);
  EXPECT_TRUE(server.runs(second));
  const JobId late = server.submit(spec, 11.0);
  server.step(11.0);
  EXPECT_TRUE(server.runs(late));
}

TEST(AfterNotOk, StartsAfterAFailureAndIsClosedAfterASuccess) {
  StubServer server(2);
  const JobId fails = server.submit(stub_job(10));
  const JobId succeeds = server.submit(stub_job(10));
  JobSpec spec = stub_job(10);
  spec.after_not_ok = {fails};
  const JobId cleans = server.submit(spec);
  spec.after_not_ok = {succeeds};
  const JobId never = server.submit(spec);
  server.step(0.0);
  EXPECT_NE(server.scheduler->why_waiting(cleans)->reason.find("to fail: 1"), std::string::npos);
  server.end(fails, {.end = RunEnd::Failed, .code = 1}, 10.0);
  EXPECT_TRUE(server.runs(cleans));
  server.end(succeeds, {.end = RunEnd::Succeeded}, 11.0);
  EXPECT_EQ(server.record(never).state, JobState::Cancelled);
  EXPECT_EQ(server.record(never).reason, "job 2, whose failure it waits for, succeeded");
}

TEST(After, MayMixTheKinds) {
  StubServer server(2);
  const JobId fails = server.submit(stub_job(10));
  const JobId succeeds = server.submit(stub_job(10));
  JobSpec spec = stub_job(10);
  spec.after = {succeeds};
  spec.after_any = {fails, succeeds};
  const JobId last = server.submit(spec);
  server.step(0.0);
  server.end(fails, {.end = RunEnd::Failed, .code = 1}, 10.0);
  EXPECT_FALSE(server.runs(last));
  server.end(succeeds, {.end = RunEnd::Succeeded}, 11.0);
  EXPECT_TRUE(server.runs(last));
}

}  // namespace
}  // namespace carpool::schedule
