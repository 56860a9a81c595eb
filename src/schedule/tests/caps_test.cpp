// Caps, several processes, memory that was lent, and faults of MPS servers, in the life of a job.
#include <gtest/gtest.h>

#include "schedule/gpus/process_cap.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

RunExit no_memory(std::uint64_t held_gib, std::uint64_t wanted_gib) {
  return {.end = RunEnd::OutOfMemory,
          .code = 1,
          .wanted_bytes = wanted_gib * kGiB,
          .held_bytes = held_gib * kGiB};
}

class CapsTest : public ::testing::Test {
 protected:
  CapsTest() { server_.policy.caps = true; }

  JobId start(std::uint64_t gib, double now_s = 0.0) {
    const JobId job = server_.submit(stub_job(gib, 1000.0), now_s);
    server_.step(now_s);
    return job;
  }
  [[nodiscard]] RunEnd last_end(JobId job) const {
    for (auto attempt = server_.record(job).attempts.rbegin();; ++attempt) {
      if (attempt->ended_s) {
        return attempt->exit.end;
      }
    }
  }
  void see_processes(JobId job, std::uint64_t gib, unsigned processes, double now_s) {
    GpuObservation seen{.gpu = 0, .used_bytes = gib * kGiB};
    seen.jobs = {{.job = job, .bytes = gib * kGiB, .processes = processes}};
    server_.scheduler->observe(seen, now_s);
    server_.step(now_s);
  }
  [[nodiscard]] std::uint64_t limit(JobId job) const {
    return *server_.executor.running.at({job, server_.attempt(job)}).memory_limit_bytes;
  }

  StubServer server_{1, {.max_out_of_memory = 3}};
};

TEST_F(CapsTest, ReachingTheCapIsNotAFailureAndTheNextCapIsLarger) {
  const JobId job = start(4);
  EXPECT_EQ(limit(job), 4 * kGiB);
  server_.end(job, no_memory(3, 2), 10.0);
  EXPECT_EQ(last_end(job), RunEnd::OverCap);
  EXPECT_EQ(server_.record(job).out_of_memory, 0U);
  ASSERT_TRUE(server_.runs(job));
  EXPECT_EQ(limit(job), 8 * kGiB);
  const auto requeued = std::ranges::find_if(server_.journal.events, [](const JobEvent& event) {
    return std::holds_alternative<JobRequeued>(event.what);
  });
  ASSERT_NE(requeued, server_.journal.events.end());
  EXPECT_EQ(std::get<JobRequeued>(requeued->what).reason,
            "it needs more than the 4 GiB that it was allowed; the next attempt may use 8 GiB");
}

TEST_F(CapsTest, WithoutSizesThePeakOrTheRoomOnTheGpuTell) {
  const JobId job = start(8);
  server_.see({{job, 8}}, 1.0);
  server_.end(job, {.end = RunEnd::OutOfMemory}, 2.0);
  EXPECT_EQ(last_end(job), RunEnd::OverCap);
  server_.see({{job, 2}}, 3.0);  // far below its cap, on a GPU that is nearly empty
  server_.end(job, {.end = RunEnd::OutOfMemory}, 4.0);
  EXPECT_EQ(last_end(job), RunEnd::OverCap);
  EXPECT_EQ(server_.scheduler->full_gpu_ends(), 0U);
}

TEST_F(CapsTest, FullGpuIsADefectThatIsCounted) {
  const JobId job = start(8);
  const JobId other = start(20);
  server_.see({{job, 2}, {other, 38}}, 1.0);
  server_.end(job, no_memory(2, 1), 2.0);
  EXPECT_EQ(last_end(job), RunEnd::OutOfMemory);
  EXPECT_EQ(server_.record(job).out_of_memory, 1U);
  EXPECT_EQ(server_.scheduler->full_gpu_ends(), 1U);
}

TEST_F(CapsTest, JobThatAlwaysNeedsMoreFailsOnceItHadTheWholeGpu) {
  const JobId job = start(4);
  double now = 1.0;
  for (; server_.runs(job) && now < 50.0; now += 1.0) {
    const std::uint64_t cap = server_.record(job).attempts.back().start.reserved_bytes / kGiB;
    server_.end(job, no_memory(cap, 1), now);
  }
  EXPECT_EQ(server_.record(job).code(), "OOM");
  EXPECT_EQ(server_.record(job).out_of_memory, 1U);
  EXPECT_LE(server_.attempt(job), 6U);  // 4, 8, 16, 32, all
}

// 37 GiB of 40 are the most that a job beside others may use.
TEST_F(CapsTest, JobThatReachesTheLargestCapRunsAloneWithoutOne) {
  const JobId job = start(37);
  EXPECT_EQ(limit(job), 37 * kGiB);
  server_.end(job, no_memory(36, 2), 10.0);
  EXPECT_EQ(last_end(job), RunEnd::OverCap);
  ASSERT_TRUE(server_.runs(job));
  EXPECT_EQ(server_.record(job).attempts.back().start.mechanism, ShareMechanism::None);
  EXPECT_FALSE(server_.record(job).attempts.back().start.cap_bytes.has_value());
  server_.end(job, {.end = RunEnd::Succeeded}, 20.0);
  EXPECT_EQ(server_.record(job).state, JobState::Succeeded);
}

TEST_F(CapsTest, CapThatIsReachedManyTimesBecomesTheWholeGpu) {
  const JobId job = start(4);
  int ends = 0;
  for (double now = 1.0; server_.runs(job) && now < 50.0; now += 1.0, ++ends) {
    // A message without sizes, on a GPU with room.
    server_.see({{job, 1}}, now);
    server_.end(job, {.end = RunEnd::OutOfMemory}, now + 0.5);
  }
  EXPECT_EQ(server_.record(job).code(), "OOM");
  EXPECT_LE(ends, 10);
}

TEST_F(CapsTest, OwnLimitOfTheOwnerIsNotACap) {
  JobSpec spec = stub_job(10);
  spec.mem_limit_bytes = 5 * kGiB;
  const JobId job = server_.submit(spec);
  server_.step(0.0);
  EXPECT_EQ(limit(job), 5 * kGiB);
  server_.end(job, no_memory(4, 1), 10.0);
  EXPECT_EQ(server_.record(job).code(), "OOM");
  EXPECT_EQ(server_.record(job).reason, "out of GPU memory at its own limit of 5 GiB");
  EXPECT_EQ(server_.attempt(job), 1U);
}

TEST_F(CapsTest, JobKeepsItsPlaceInTheQueue) {
  const JobId job = start(20);
  const JobId waits = start(30, 1.0);
  server_.end(job, no_memory(20, 4), 10.0);
  EXPECT_TRUE(server_.runs(job));
  EXPECT_FALSE(server_.runs(waits));
}

TEST_F(CapsTest, EachProcessOfAJobGetsItsPartOfTheCap) {
  const JobId job = start(10);
  GpuObservation two{.gpu = 0, .used_bytes = 8 * kGiB};
  two.jobs = {{.job = job, .bytes = 8 * kGiB, .processes = 2}};
  server_.scheduler->observe(two, 1.0);
  EXPECT_EQ(server_.scheduler->gpus()[0].residents[0].reserved_bytes, 20 * kGiB);
  server_.end(job, no_memory(10, 1), 2.0);
  ASSERT_TRUE(server_.runs(job));
  EXPECT_EQ(server_.record(job).attempts.front().processes, 2U);
  const std::uint64_t cap = *server_.record(job).attempts.back().start.cap_bytes;
  EXPECT_EQ(limit(job), cap / 2);
  EXPECT_EQ(server_.learner.runs.back().processes, 2U);
}

TEST_F(CapsTest, CapOfANewJobIsDividedAmongTheProcessesOfEarlierRuns) {
  server_.interference.processes = 3;
  const JobId job = start(12);
  EXPECT_EQ(limit(job), 4 * kGiB);
  EXPECT_EQ(server_.record(job).attempts.back().start.processes, 3U);
  see_processes(job, 9, 3, 1.0);
  EXPECT_EQ(server_.scheduler->gpus()[0].residents[0].reserved_bytes, 12 * kGiB);
  server_.interference.processes = 1;  // what is learned meanwhile does not change what runs
  server_.restart(2.0);
  see_processes(job, 9, 3, 2.5);
  server_.end(job, no_memory(3, 1), 3.0);
  EXPECT_EQ(last_end(job), RunEnd::OverCap);
  ASSERT_TRUE(server_.runs(job));
  EXPECT_EQ(limit(job), 8 * kGiB);  // twice the cap; three processes were seen
}

TEST_F(CapsTest, NextCapGivesEachProcessWhatOneWanted) {
  server_.interference.processes = 2;
  const JobId job = start(4);
  EXPECT_EQ(limit(job), 2 * kGiB);
  see_processes(job, 3, 2, 1.0);
  server_.end(job, no_memory(1, 9), 2.0);
  EXPECT_EQ(last_end(job), RunEnd::OverCap);
  ASSERT_TRUE(server_.runs(job));
  EXPECT_EQ(limit(job), 11 * kGiB);
}

TEST_F(CapsTest, NoProcessGetsLessThanACudaContextNeeds) {
  server_.interference.processes = 8;
  const JobId job = start(4);
  EXPECT_EQ(limit(job), kLeastProcessCap);
  const JobId small = start(1);
  EXPECT_EQ(limit(small), 1 * kGiB);  // never more than the cap of all
}

TEST_F(CapsTest, FurtherProcessThatTakesMoreThanOthersLeaveEndsTheAttempt) {
  const JobId job = start(10);
  const JobId other = start(20);
  ASSERT_TRUE(server_.runs(other));
  see_processes(job, 10, 2, 1.0);
  EXPECT_TRUE(server_.executor.stops.empty());  // within the cap of the job
  see_processes(job, 21, 2, 2.0);
  ASSERT_EQ(server_.executor.stops.size(), 1U);
  server_.end(job, {.end = RunEnd::Failed, .signal = 9}, 3.0);
  EXPECT_EQ(last_end(job), RunEnd::OverCap);
  EXPECT_EQ(server_.record(job).out_of_memory, 0U);
  EXPECT_EQ(server_.record(job).reason,
            "its 2 processes on GPU 0 took 21 GiB together, more than the 10 GiB that it may use, "
            "and no more is free; the next attempt reserves 31.5 GiB");
  EXPECT_FALSE(server_.runs(job));
  server_.end(other, {.end = RunEnd::Succeeded}, 4.0);
  ASSERT_TRUE(server_.runs(job));
  EXPECT_EQ(server_.record(job).attempts.back().start.processes, 2U);
  EXPECT_EQ(limit(job), *server_.record(job).attempts.back().start.cap_bytes / 2);
}

TEST_F(CapsTest, FurtherProcessMayUseWhatIsFree) {
  const JobId job = start(10);
  see_processes(job, 18, 2, 1.0);
  EXPECT_TRUE(server_.executor.stops.empty());
  EXPECT_TRUE(server_.runs(job));
}

// Reservations shrink, others are let in, and the first grows again.
class LentTest : public CapsTest {
 protected:
  LentTest() {
    first_ = start(20);
    for (int second = 1; second < 10; ++second) {
      server_.see({{first_, 4}}, second);
    }
    second_ = start(30, 10.0);
    server_.see({{first_, 4}, {second_, 28}}, 11.0);
  }
  void grow_until_paused() {
    for (std::uint64_t gib = 5; gib < 12 && !server_.paused(first_); ++gib) {
      server_.see({{first_, gib}, {second_, 28}}, 11.0 + static_cast<double>(gib));
    }
  }

  JobId first_ = 0;
  JobId second_ = 0;
};

TEST_F(LentTest, WhoGrowsIntoLentRoomIsPausedAndTold) {
  ASSERT_TRUE(server_.runs(second_));
  grow_until_paused();
  ASSERT_TRUE(server_.paused(first_));
  const JobPaused& pause = *server_.record(first_).attempts.back().pause;
  EXPECT_EQ(pause.cause, PauseCause::Memory);
  EXPECT_NE(pause.reason.find("it grows beyond the 4.6 GiB reserved for it, and GPU 0 has"),
            std::string::npos);
  server_.resume(first_, 30.0);  // what the policy wants does not count
  EXPECT_TRUE(server_.paused(first_));
  server_.end(second_, {.end = RunEnd::Succeeded}, 40.0);
  server_.see({{first_, 9}}, 41.0);
  EXPECT_FALSE(server_.paused(first_));
  EXPECT_GE(server_.scheduler->gpus()[0].residents[0].reserved_bytes, 20 * kGiB);
}

TEST_F(LentTest, WhoStandsStillTooLongGoesBackWithMoreAndIsNotBlamed) {
  grow_until_paused();
  ASSERT_TRUE(server_.paused(first_));
  server_.see({{first_, 8}, {second_, 28}}, 400.0);
  ASSERT_FALSE(server_.executor.stops.empty());
  EXPECT_EQ(server_.executor.stops.back(), std::pair(RunId(first_, 1), StopMode::Kill));
  server_.restart(401.0);
  EXPECT_EQ(server_.executor.stops.back(), std::pair(RunId(first_, 1), StopMode::Kill));
  server_.end(first_, {.end = RunEnd::Failed, .signal = 9}, 402.0);
  EXPECT_EQ(last_end(first_), RunEnd::OverCap);
  EXPECT_EQ(server_.record(first_).reserve_bytes, 12 * kGiB);
  EXPECT_NE(server_.record(first_).reason.find("it stood still for"), std::string::npos);
  EXPECT_EQ(server_.record(first_).code(), "PD");
  EXPECT_TRUE(server_.record(first_).recovering());
}

// Three jobs under one MPS server; the last one came at 100 s.
class FaultTest : public CapsTest {
 protected:
  FaultTest() {
    jobs_ = {start(10), start(10)};
    server_.see({{jobs_[0], 5}, {jobs_[1], 5}}, 1.0);
    jobs_.push_back(start(10, 100.0));
    server_.see({{jobs_[0], 5}, {jobs_[1], 5}, {jobs_[2], 5}}, 101.0);
  }
  void fault(JobId job, double now_s) { server_.end(job, {.end = RunEnd::MpsFault}, now_s); }

  std::vector<JobId> jobs_;
};

TEST_F(FaultTest, JobThatComputedForTheShortestTimeRunsAloneNext) {
  for (const JobId job : jobs_) {
    server_.executor.end({job, 1}, {.end = RunEnd::MpsFault});
  }
  server_.step(110.0);
  EXPECT_TRUE(server_.record(jobs_[2]).exclusive);
  EXPECT_TRUE(server_.record(jobs_[2]).attempts[0].exit.culprit);
  for (const JobId job : {jobs_[0], jobs_[1]}) {
    EXPECT_FALSE(server_.record(job).exclusive);
    EXPECT_FALSE(server_.record(job).attempts[0].exit.culprit);
  }
}

TEST_F(FaultTest, EndsWithinSecondsAreOneFault) {
  fault(jobs_[0], 110.0);
  fault(jobs_[2], 112.0);
  fault(jobs_[1], 115.0);
  EXPECT_TRUE(server_.record(jobs_[2]).exclusive);
  EXPECT_FALSE(server_.record(jobs_[0]).exclusive);
  EXPECT_FALSE(server_.record(jobs_[1]).exclusive);
}

TEST_F(FaultTest, VictimsAreNeverGivenUp) {
  double now = 110.0;
  for (int i = 0; i < 20; ++i, now += 100.0) {
    server_.see({{jobs_[0], 5}, {jobs_[2], 5}}, now);
    if (server_.runs(jobs_[0])) {
      server_.executor.end({jobs_[0], server_.attempt(jobs_[0])},
                           {.end = RunEnd::MpsFault, .detail = "a neighbour failed"});
    }
    if (server_.runs(jobs_[2]) && !server_.record(jobs_[2]).exclusive) {
      server_.executor.end({jobs_[2], server_.attempt(jobs_[2])}, {.end = RunEnd::MpsFault});
    }
    server_.step(now);
    if (server_.record(jobs_[0]).exclusive) {
      break;  // after the third it runs alone
    }
    ASSERT_FALSE(server_.record(jobs_[0]).over());
  }
  EXPECT_FALSE(server_.record(jobs_[0]).over());
}

TEST_F(FaultTest, FaultOfAJobThatRanAloneIsItsOwn) {
  const JobId job = jobs_[2];
  for (const JobId other : {jobs_[0], jobs_[1]}) {
    server_.end(other, {.end = RunEnd::Succeeded}, 105.0);
  }
  fault(job, 110.0);
  ASSERT_TRUE(server_.runs(job));
  EXPECT_TRUE(server_.record(job).exclusive);
  fault(job, 120.0);
  EXPECT_EQ(server_.record(job).code(), "F");
  EXPECT_EQ(server_.record(job).reason, "its MPS server failed, while it ran alone");
}

TEST_F(FaultTest, JobThatWasNeverSeenAndReportsAFaultIsSuspected) {
  const JobId fresh = start(5, 120.0);
  fault(jobs_[0], 121.0);
  fault(fresh, 122.0);
  EXPECT_TRUE(server_.record(fresh).exclusive);
}

}  // namespace
}  // namespace carpool::schedule
