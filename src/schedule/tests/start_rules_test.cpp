// Rules of a job's owner on when and where it starts: limits of arrays, times to begin, GPUs.
#include <gtest/gtest.h>

#include "schedule/explain.hpp"
#include "schedule/scheduler.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

std::vector<JobId> submit_array(StubServer& server, int jobs, unsigned limit) {
  std::vector<JobId> ids;
  for (int i = 0; i < jobs; ++i) {
    JobSpec spec = stub_job(1);
    spec.array_index = i;
    spec.array_limit = limit;
    if (!ids.empty()) {
      spec.array_job = ids.front();
    }
    ids.push_back(server.submit(spec));
  }
  return ids;
}

std::vector<JobId> running_of(const StubServer& server, const std::vector<JobId>& jobs) {
  std::vector<JobId> running;
  std::ranges::copy_if(
      jobs, std::back_inserter(running), [&](JobId job) { return server.runs(job); });
  return running;
}

using Jobs = std::vector<JobId>;

TEST(ArrayLimit, OfOneIsToldOfOneJob) {
  StubServer server(1);
  submit_array(server, 2, 1);
  server.step(0.0);
  EXPECT_EQ(server.scheduler->why_waiting(2)->reason,
            "at most 1 job of array 1[] runs at once; others go first");
}

TEST(ArrayLimit, ThatManyJobsOfTheArrayRunAtOnce) {
  StubServer server(1);
  const Jobs jobs = submit_array(server, 5, 2);
  server.step(0.0);
  EXPECT_EQ(running_of(server, jobs), (Jobs{1, 2}));
  const auto why = server.scheduler->why_waiting(3);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->constraint, Constraint::ArrayLimit);
  EXPECT_EQ(why->reason, "at most 2 jobs of array 1[] run at once; others go first");
  EXPECT_FALSE(server.scheduler->may_start(3));
  const JobId other = server.submit(stub_job(1), 1.0);
  server.step(1.0);
  EXPECT_TRUE(server.runs(other));
  server.end(2, {.end = RunEnd::Failed, .code = 1}, 2.0);
  EXPECT_EQ(running_of(server, jobs), (Jobs{1, 3}));
  server.end(1, {.end = RunEnd::Succeeded}, 3.0);
  EXPECT_EQ(running_of(server, jobs), (Jobs{3, 4}));
}

TEST(ArrayLimit, AJobThatIsHeldOrCancelledGivesItsPlaceToTheNext) {
  StubServer server(1);
  const Jobs jobs = submit_array(server, 4, 1);
  ASSERT_TRUE(server.scheduler->hold(1, 0.0));
  server.step(0.0);
  EXPECT_EQ(running_of(server, jobs), Jobs{2});
  ASSERT_TRUE(server.scheduler->release(1, 1.0));
  ASSERT_TRUE(server.scheduler->cancel(3, "u1000", 1.0));
  server.step(1.0);
  EXPECT_EQ(running_of(server, jobs), Jobs{2});
  EXPECT_EQ(server.scheduler->why_waiting(1)->constraint, Constraint::ArrayLimit);
  server.end(2, {.end = RunEnd::Succeeded}, 2.0);
  EXPECT_EQ(running_of(server, jobs), Jobs{1});
}

TEST(ArrayLimit, ARequeuedOrUpdatedJobKeepsItsPlace) {
  StubServer server(1);
  const JobId large = server.submit(stub_job(40));
  server.step(0.0);
  const Jobs jobs = submit_array(server, 3, 1);
  server.step(0.0);
  ASSERT_TRUE(server.scheduler->update(2, {.by = "u", .priority = -5}, 1.0));
  server.step(1.0);
  server.end(large, {.end = RunEnd::Succeeded}, 2.0);
  EXPECT_EQ(running_of(server, jobs), Jobs{2});
  ASSERT_TRUE(server.scheduler->requeue(2, 3.0));
  server.step(3.0);
  server.end(2, {.end = RunEnd::Cancelled}, 4.0);
  EXPECT_EQ(server.record(2).attempts.size(), 2U);
  EXPECT_EQ(running_of(server, jobs), Jobs{2});
}

TEST(ArrayLimit, HoldsAfterARestart) {
  StubServer server(1);
  const Jobs jobs = submit_array(server, 6, 2);
  server.step(0.0);
  server.end(1, {.end = RunEnd::Succeeded}, 1.0);
  EXPECT_EQ(running_of(server, jobs), (Jobs{2, 3}));
  server.restart(2.0);
  server.step(2.0);
  EXPECT_EQ(running_of(server, jobs), (Jobs{2, 3}));
  server.end(3, {.end = RunEnd::Succeeded}, 3.0);
  EXPECT_EQ(running_of(server, jobs), (Jobs{2, 4}));
}

TEST(ArrayLimit, NeedsAnArray) {
  StubServer server(1);
  JobSpec spec = stub_job(1);
  spec.array_limit = 2;
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_NE(server.refusal.find("array_limit"), std::string::npos) << server.refusal;
}

JobSpec beginning_at(double begin_s) {
  JobSpec spec = stub_job(1);
  spec.begin_s = begin_s;
  return spec;
}

TEST(Begin, AJobWaitsForItsTimeAndTheSchedulerAsksToBeWoken) {
  StubServer server(1);
  server.settings.time_text = [](double at_s) { return fmt::format("<{}>", at_s); };
  server.restart();
  const JobId job = server.submit(beginning_at(100.0));
  server.step(1.0);
  EXPECT_FALSE(server.runs(job));
  EXPECT_EQ(server.scheduler->next_wakeup_s(), 100.0);
  EXPECT_FALSE(server.scheduler->may_start(job));
  const auto why = explain(*server.scheduler, job);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->binding->constraint, Constraint::Begin);
  EXPECT_NE(why->summary.find("<100>"), std::string::npos) << why->summary;
  server.step(99.0);
  EXPECT_FALSE(server.runs(job));
  server.step(100.0);
  EXPECT_TRUE(server.runs(job));
}

TEST(Begin, HoldsAcrossARestartAndMayPassWhileTheServerIsDown) {
  StubServer server(1);
  const JobId first = server.submit(beginning_at(100.0));
  const JobId second = server.submit(beginning_at(200.0));
  server.step(1.0);
  server.restart(150.0);
  server.step(150.0);
  EXPECT_TRUE(server.runs(first));
  EXPECT_FALSE(server.runs(second));
  EXPECT_EQ(server.scheduler->next_wakeup_s(), 200.0);
}

TEST(Begin, ChangesByAnUpdateAndNotForARunningJob) {
  StubServer server(1);
  const JobId job = server.submit(beginning_at(100.0));
  server.step(0.0);
  ASSERT_TRUE(server.scheduler->update(job, {.by = "u", .begin_s = 50.0}, 1.0));
  server.step(1.0);
  EXPECT_EQ(server.scheduler->next_wakeup_s(), 50.0);
  server.restart(2.0);
  server.step(50.0);
  EXPECT_TRUE(server.runs(job));
  EXPECT_FALSE(server.scheduler->update(job, {.by = "u", .begin_s = 60.0}, 51.0));
}

TEST(Begin, AHeldOrCancelledJobDoesNotStartAtItsTime) {
  StubServer server(1);
  const JobId held = server.submit(beginning_at(100.0));
  const JobId cancelled = server.submit(beginning_at(100.0));
  ASSERT_TRUE(server.scheduler->hold(held, 0.0));
  ASSERT_TRUE(server.scheduler->cancel(cancelled, "u1000", 0.0));
  server.step(100.0);
  EXPECT_FALSE(server.runs(held));
  EXPECT_EQ(server.record(cancelled).state, JobState::Cancelled);
  ASSERT_TRUE(server.scheduler->release(held, 101.0));
  server.step(101.0);
  EXPECT_TRUE(server.runs(held));
}

TEST(GpuFilter, AJobRunsOnTheGpusOfItsFilter) {
  StubServer server(2);
  JobSpec by_index = stub_job(1);
  by_index.gpu_filter.indices = {1};
  JobSpec by_type = stub_job(1);
  by_type.gpu_filter.type = "h200";
  for (const JobSpec& spec : {by_index, by_type}) {
    const JobId job = server.submit(spec);
    server.step(0.0);
    ASSERT_TRUE(server.runs(job));
    EXPECT_EQ(server.record(job).attempts.front().start.gpus, std::vector<unsigned>{1});
  }
}

TEST(GpuFilter, AJobThatNoGpuCanSatisfyIsRefusedWithTheGpusThatExist) {
  StubServer server(2);
  JobSpec spec = stub_job(1);
  spec.gpu_filter.indices = {7};
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_EQ(server.refusal,
            "gpu: there is no GPU 7; this server has GPU 0 (NVIDIA A100-SXM4-40GB), GPU 1 (NVIDIA "
            "H200)");
  spec.gpu_filter = {.type = "B300"};
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_NE(server.refusal.find("no B300 GPUs; this server has GPU 0 (NVIDIA A100"),
            std::string::npos);
  spec.gpu_filter = {.type = "H200"};
  spec.gpus = 2;
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_NE(server.refusal.find("2 requested on H200 GPUs only"), std::string::npos);
}

TEST(Submission, SaysWhatTheServerHas) {
  StubServer server(2);
  JobSpec spec = stub_job(41);
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_EQ(server.refusal,
            "mem: 41 GiB requested; the largest GPU that the job may use has 40 GiB");
  spec = stub_job(1);
  spec.gpus = 3;
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_EQ(server.refusal, "gpus: 3 requested; this server has 2");
  spec.gpus = 0;
  EXPECT_EQ(server.submit(spec), 0);
  EXPECT_EQ(server.refusal, "gpus: a job needs at least one");
}

}  // namespace
}  // namespace carpool::schedule
