// Recovery after failures: where it differs from CARMA's.
#include "schedule/recovery.hpp"

#include <gtest/gtest.h>

#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

RunExit out_of_memory(std::uint64_t held_gib, std::uint64_t wanted_gib) {
  RunExit exit{.end = RunEnd::OutOfMemory, .code = 1};
  if (wanted_gib > 0) {
    exit.held_bytes = held_gib * kGiB;
    exit.wanted_bytes = wanted_gib * kGiB;
  }
  return exit;
}

TEST(Recovery, ReservationComesFromTheMessageWithRoom) {
  const std::uint64_t next = next_reservation(out_of_memory(18, 2), 12 * kGiB, {}, 40 * kGiB);
  EXPECT_EQ(next, 22 * kGiB);  // (18 + 2) x 1.1
}

TEST(Recovery, ReservationAlwaysGrowsAndEndsAtTheGpu) {
  EXPECT_GT(next_reservation(out_of_memory(2, 1), 12 * kGiB, {}, 40 * kGiB), 12 * kGiB);
  EXPECT_EQ(next_reservation(out_of_memory(0, 0), 12 * kGiB, {}, 40 * kGiB), 18 * kGiB);
  EXPECT_EQ(next_reservation(out_of_memory(0, 0), 12 * kGiB, 20 * kGiB, 40 * kGiB), 30 * kGiB);
  EXPECT_EQ(next_reservation(out_of_memory(39, 8), 12 * kGiB, {}, 40 * kGiB), 40 * kGiB);
  EXPECT_EQ(next_reservation(out_of_memory(0, 0), 0, {}, 40 * kGiB), kGiB);
}

TEST(Recovery, FloorOfAegisRisesByQuartersAndAtMostEightGiB) {
  EXPECT_EQ(next_floor(1, 0, 40 * kGiB), 8 * kGiB);
  EXPECT_EQ(next_floor(2, 8 * kGiB, 40 * kGiB), 16 * kGiB);
  EXPECT_EQ(next_floor(3, 16 * kGiB, 40 * kGiB), 24 * kGiB);
  EXPECT_EQ(next_floor(4, 24 * kGiB, 40 * kGiB), 30 * kGiB);
  EXPECT_EQ(next_floor(1, 5 * kGiB, 40 * kGiB), 10 * kGiB);
}

TEST(Recovery, NamesAreKnownAndOthersRefused) {
  EXPECT_EQ(*recovery_rule("carma"), RecoveryRule::Carma);
  EXPECT_NE(recovery_rule("karma").error().message.find("carma"), std::string::npos);
}

TEST(Recovery, JobThatAlwaysFailsIsNotStartedAgain) {
  StubServer server;
  const JobId job = server.submit(stub_job(10));
  server.step(0.0);
  server.end(job, {.end = RunEnd::Failed, .code = 1, .detail = "No module named toch"}, 1.0);
  EXPECT_EQ(server.record(job).code(), "F");
  EXPECT_EQ(server.record(job).reason, "exit status 1: No module named toch");
  EXPECT_EQ(server.attempt(job), 1U);
}

TEST(Recovery, TheReasonOfAFailureNamesTheStatusOnce) {
  StubServer server;
  const JobId silent = server.submit(stub_job(1));
  server.step(0);
  server.end(silent, {.end = RunEnd::Failed, .code = 3, .detail = "exit status 3"}, 10);
  EXPECT_EQ(server.record(silent).reason, "exit status 3");
  const JobId killed = server.submit(stub_job(1), 20);
  server.step(20);
  server.end(killed, {.end = RunEnd::Failed, .signal = 9}, 30);
  EXPECT_EQ(server.record(killed).reason, "killed by SIGKILL (9)");
}

TEST(Recovery, FailuresAreRetriedAsOftenAsRequested) {
  StubServer server;
  JobSpec spec = stub_job(10);
  spec.retries = 2;
  const JobId job = server.submit(spec);
  server.step(0.0);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(server.runs(job));
    server.end(job, {.end = RunEnd::Failed, .code = 1}, i);
  }
  EXPECT_EQ(server.record(job).code(), "F");
  EXPECT_EQ(server.attempt(job), 3U);
}

TEST(Recovery, OutOfMemoryStartsAgainAtOnceWithAReservationAndOthersKeepSharing) {
  StubServer server(2);
  const JobId small = server.submit(stub_job(5, 1000.0));
  const JobId grows = server.submit(stub_job(5, 1000.0));
  server.step(0.0);
  const JobId other = server.submit(stub_job(5, 1000.0), 1.0);
  server.end(grows, out_of_memory(18, 2), 2.0);
  EXPECT_TRUE(server.runs(small));
  EXPECT_TRUE(server.runs(other));
  ASSERT_TRUE(server.runs(grows));
  EXPECT_EQ(server.record(grows).attempts.back().start.reserved_bytes, 22 * kGiB);
  EXPECT_FALSE(server.record(grows).exclusive);
  EXPECT_EQ(server.record(grows).out_of_memory, 1U);
}

TEST(Recovery, RepeatedOutOfMemoryIsGivenUp) {
  StubServer server(1, {.max_out_of_memory = 3});
  const JobId job = server.submit(stub_job(5));
  server.step(0.0);
  int starts = 0;
  for (double now = 1.0; server.runs(job) && starts < 20; now += 1.0) {
    ++starts;
    server.end(job, out_of_memory(6, 1), now);
  }
  EXPECT_EQ(starts, 3);
  EXPECT_EQ(server.record(job).code(), "OOM");
  EXPECT_EQ(server.record(job).reason, "giving up after 3 out-of-memory failures");
}

TEST(Recovery, OutOfMemoryWithAWholeGpuIsNotRepeated) {
  StubServer server;
  JobSpec spec = stub_job(40);
  spec.exclusive = true;
  const JobId job = server.submit(spec);
  server.step(0.0);
  server.end(job, out_of_memory(39, 4), 1.0);
  EXPECT_EQ(server.record(job).code(), "OOM");
  EXPECT_EQ(server.attempt(job), 1U);
}

TEST(Recovery, NeedOfNearlyAWholeGpuStillStarts) {
  StubServer server;
  const JobId job = server.submit(stub_job(5));
  server.step(0.0);
  server.end(job, out_of_memory(38, 8), 1.0);
  EXPECT_TRUE(server.runs(job));
  EXPECT_TRUE(server.record(job).exclusive);
}

TEST(Recovery, RuleOfCarmaRunsItAloneAndFirstAndNoJobSharesMeanwhile) {
  StubServer server(1, {.order = QueueOrder::Fifo, .recovery = RecoveryRule::Carma});
  const JobId fails = server.submit(stub_job(10));
  const JobId runs = server.submit(stub_job(10));
  server.step(0.0);
  const JobId later = server.submit(stub_job(10), 1.0);
  server.executor.end({fails, 1}, out_of_memory(10, 1));
  server.step(1.0);
  EXPECT_FALSE(server.runs(fails));
  EXPECT_FALSE(server.runs(later));
  server.end(runs, {.end = RunEnd::Succeeded}, 2.0);
  EXPECT_TRUE(server.runs(fails));
  EXPECT_FALSE(server.runs(later));
  server.end(fails, {.end = RunEnd::Succeeded}, 3.0);
  EXPECT_TRUE(server.runs(later));
}

TEST(Recovery, RuleOfAegisRaisesTheFloor) {
  StubServer server(1, {.recovery = RecoveryRule::Aegis});
  const JobId job = server.submit(stub_job(1));
  server.step(0.0);
  server.end(job, out_of_memory(0, 0), 1.0);
  EXPECT_EQ(server.record(job).reserve_bytes, 9 * kGiB);  // 1 + 8
  EXPECT_FALSE(server.record(job).exclusive);
}

TEST(Recovery, JobsWhoseSupervisorIsKilledStartAgainFiveTimes) {
  StubServer server;
  const JobId job = server.submit(stub_job(10));
  server.step(0.0);
  for (int i = 1; i <= 5; ++i) {
    server.end(job, {.end = RunEnd::Lost}, i);
    EXPECT_TRUE(server.runs(job));
  }
  server.end(job, {.end = RunEnd::Lost}, 6.0);
  EXPECT_EQ(server.record(job).code(), "F");
  EXPECT_EQ(server.record(job).end, RunEnd::Lost);
  EXPECT_EQ(server.record(job).reason, "lost: its supervisor was killed (6 times)");
}

TEST(Recovery, MachineThatGoesDownOftenFailsNoJob) {
  StubServer server;
  const JobId job = server.submit(stub_job(10));
  server.step(0.0);
  for (int i = 1; i <= 20; ++i) {
    server.end(job,
               {.end = RunEnd::Lost,
                .detail = "the machine went down while the job ran",
                .scope = TroubleScope::Machine},
               i);
    ASSERT_TRUE(server.runs(job));
  }
  EXPECT_EQ(server.attempt(job), 21U);
}

TEST(Recovery, HostOutOfMemoryIsNotRetriedUnlessRequested) {
  StubServer server;
  const JobId job = server.submit(stub_job(10));
  server.step(0.0);
  server.end(job, {.end = RunEnd::HostOutOfMemory, .signal = 9}, 1.0);
  EXPECT_EQ(server.record(job).end, RunEnd::HostOutOfMemory);
}

TEST(Recovery, RecoveringJobsGoBeforeTheirEqualsAndKeepTheirPlace) {
  StubServer server(1, {.order = QueueOrder::Fifo});
  const JobId first = server.submit(stub_job(30));
  const JobId second = server.submit(stub_job(30));
  server.step(0.0);
  server.end(first, {.end = RunEnd::MpsFault}, 10.0);
  EXPECT_TRUE(server.runs(first));
  EXPECT_FALSE(server.runs(second));
}

}  // namespace
}  // namespace carpool::schedule
