// Jobs whose memory is limited by the library in front of the driver.
#include <gtest/gtest.h>

#include "schedule/explain.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

class GuardedJobsTest : public ::testing::Test {
 protected:
  GuardedJobsTest() { server_.policy.caps = true; }

  JobId start(std::uint64_t gib, double now_s = 0.0, bool guarded = true) {
    JobSpec spec = stub_job(gib, 1000.0);
    if (!guarded) {
      spec.env.set("CARPOOL_SHIM", "off");
    }
    const JobId job = server_.submit(spec, now_s);
    server_.step(now_s);
    return job;
  }
  [[nodiscard]] RunEnd first_end(JobId job) const {
    return server_.record(job).attempts.front().exit.end;
  }
  [[nodiscard]] const Resident& resident(JobId job) const {
    const auto& residents = server_.scheduler->gpus().front().residents;
    return *std::ranges::find(residents, job, &Resident::job);
  }

  StubServer server_{
      1, {.guarded = [](const JobSpec& job) { return !job.env.map().contains("CARPOOL_SHIM"); }}};
};

TEST_F(GuardedJobsTest, TheCapIsOfAllProcessesTogether) {
  for (const bool guarded : {true, false}) {
    const JobId job = start(8, 0.0, guarded);
    GpuObservation seen{.gpu = 0, .used_bytes = 2 * kGiB};
    seen.jobs = {{.job = job, .bytes = 2 * kGiB, .processes = 2}};
    server_.scheduler->observe(seen, 1.0);
    server_.end(job, {.end = RunEnd::Lost}, 2.0);
    ASSERT_TRUE(server_.runs(job));
    EXPECT_EQ(server_.record(job).attempts.back().start.processes, guarded ? 1U : 2U);
    server_.end(job, {.end = RunEnd::Succeeded}, 3.0);
  }
}

TEST_F(GuardedJobsTest, ARefusalByTheLibraryIsNotAFailureThoughTheGpuIsFull) {
  const JobId job = start(8);
  const JobId other = start(20);
  server_.see({{job, 2}, {other, 38}}, 1.0);
  server_.end(job, {.end = RunEnd::OverCap, .code = 1}, 2.0);
  EXPECT_EQ(first_end(job), RunEnd::OverCap);
  EXPECT_EQ(server_.record(job).out_of_memory, 0U);
  EXPECT_EQ(server_.scheduler->full_gpu_ends(), 0U);
}

TEST_F(GuardedJobsTest, TheOwnersLimitIsTheOwnersFault) {
  JobSpec spec = stub_job(8, 1000.0);
  spec.mem_limit_bytes = 4 * kGiB;
  const JobId job = server_.submit(spec);
  server_.step(0.0);
  server_.end(job, {.end = RunEnd::OverCap, .code = 1}, 2.0);
  EXPECT_EQ(first_end(job), RunEnd::OutOfMemory);
}

TEST_F(GuardedJobsTest, AProcessThatEscapesIsToldAndTheCapDoesNotCount) {
  const JobId job = start(8);
  EXPECT_EQ(resident(job).cap_bytes, 8 * kGiB);
  EXPECT_EQ(server_.scheduler->cap_escape(job), "");
  server_.scheduler->cap_escaped(job, "a process is setuid");
  EXPECT_EQ(resident(job).cap_bytes, 0U);
  EXPECT_EQ(server_.scheduler->cap_escape(job), "a process is setuid");
  const auto explained = explain(*server_.scheduler, job);
  ASSERT_TRUE(explained);
  EXPECT_NE(explained->memory.find("its cap is not enforced: a process is setuid"),
            std::string::npos)
      << explained->memory;
  // What it takes beyond the cap is reserved.
  server_.see({{job, 20}}, 1.0);
  EXPECT_GE(resident(job).reserved_bytes, 20 * kGiB);
  server_.end(job, {.end = RunEnd::Lost}, 2.0);
  ASSERT_TRUE(server_.runs(job));
  EXPECT_EQ(server_.scheduler->cap_escape(job), "");  // of the attempt before
}

}  // namespace
}  // namespace carpool::schedule
