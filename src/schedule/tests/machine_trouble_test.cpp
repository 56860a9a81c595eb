// Trouble of the machine at the start of jobs: no job ends by it, and it costs few attempts.
#include <cmath>

#include <gtest/gtest.h>

#include "schedule/explain.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

class MachineTrouble : public testing::Test {
 protected:
  // As the server does: at every time for which the scheduler asks.
  void run_until(double end_s) {
    while (now_ < end_s) {
      const double next = server_.executor.reports.empty()
                              ? server_.scheduler->next_wakeup_s().value_or(end_s)
                              : now_;
      now_ = std::min(std::max(next, now_ + 0.01), end_s);
      server_.step(now_);
      ASSERT_TRUE(server_.flushed);
    }
  }
  void submit_many(int count) {
    for (int i = 0; i < count; ++i) {
      jobs_.push_back(server_.submit(stub_job(10), 0.0, 1000 + static_cast<unsigned>(i % 2)));
    }
    server_.step(0.0);
  }
  [[nodiscard]] std::size_t running() const { return server_.executor.running.size(); }
  [[nodiscard]] std::string reason(JobId job) const {
    const auto why = server_.scheduler->why_waiting(job);
    return why ? why->reason : std::string();
  }

  StubServer server_{2};
  std::vector<JobId> jobs_;
  double now_ = 0.0;
};

TEST_F(MachineTrouble, OfTheMachineCostsADozenAttemptsAMinuteAndNoJob) {
  server_.executor.trouble = TroubleScope::Machine;
  submit_many(200);
  const int first = server_.executor.troubled;
  EXPECT_LE(first, 8);  // as many as had room at once
  run_until(60.0);
  EXPECT_LE(server_.executor.troubled - first, 12);
  for (const JobId job : jobs_) {
    EXPECT_EQ(server_.record(job).code(), "PD");
  }
  server_.executor.trouble.reset();
  run_until(70.0);
  EXPECT_EQ(running(), 8U);
  EXPECT_TRUE(server_.scheduler->troubles().empty());
}

TEST_F(MachineTrouble, DoesNotCountAsAFailureAndKeepsThePlaceInTheLine) {
  server_.executor.trouble = TroubleScope::Machine;
  JobSpec spec = stub_job(30);
  const JobId job = server_.submit(spec);
  server_.step(0.0);
  run_until(30.0);
  ASSERT_GT(server_.attempt(job), 3U);
  const JobId later = server_.submit(spec, 31.0);
  const JobId last = server_.submit(spec, 31.0);
  server_.executor.trouble.reset();
  run_until(45.0);
  EXPECT_TRUE(server_.runs(job));
  EXPECT_TRUE(server_.runs(later));
  EXPECT_FALSE(server_.runs(last));
  EXPECT_EQ(server_.record(job).out_of_memory, 0U);
  server_.end(job, {.end = RunEnd::OutOfMemory}, now_);
  EXPECT_FALSE(server_.record(job).over());
}

TEST_F(MachineTrouble, OneAttemptTriesAfterAPauseAndTheOthersFollowOnceItRuns) {
  server_.executor.trouble = TroubleScope::Machine;
  submit_many(20);
  server_.executor.trouble.reset();
  server_.executor.silent = true;
  run_until(1.5);
  EXPECT_EQ(running(), 1U);
  const RunId trial = server_.executor.running.begin()->first;
  for (const JobId job : jobs_) {
    if (job != trial.job) {
      EXPECT_NE(reason(job).find(fmt::format("until job {} has started", trial.job)),
                std::string::npos)
          << reason(job);
    }
  }
  server_.executor.reports.push_back({.kind = RunReport::Kind::Running, .run = trial});
  server_.step(2.0);
  run_until(3.0);
  EXPECT_EQ(running(), 8U);
}

TEST_F(MachineTrouble, TrialThatSaysNothingIsFollowedByAnother) {
  server_.executor.trouble = TroubleScope::Machine;
  submit_many(4);
  server_.executor.trouble.reset();
  server_.executor.silent = true;
  run_until(30.0);
  EXPECT_EQ(running(), 1U);
  run_until(70.0);
  EXPECT_EQ(running(), 2U);
}

TEST_F(MachineTrouble, OfAGpuLeavesTheOtherGpusUsable) {
  server_.executor.trouble = TroubleScope::Gpus;
  server_.executor.only_trouble_on = 0;
  submit_many(20);
  run_until(0.5);
  EXPECT_EQ(running(), 4U);  // GPU 1 is full
  EXPECT_NE(server_.scheduler->gpus()[0].unusable.find("set aside for 1 s: no descriptor left"),
            std::string::npos);
  EXPECT_TRUE(server_.scheduler->gpus()[1].unusable.empty());
  const JobId waits = jobs_.back();
  EXPECT_NE(reason(waits).find("GPU 0 is set aside for 1 s: no descriptor left"), std::string::npos)
      << reason(waits);
  run_until(60.0);
  EXPECT_LE(server_.executor.troubled, 16);
  // An observation does not make it usable.
  server_.scheduler->observe({.gpu = 0}, now_);
  EXPECT_FALSE(server_.scheduler->gpus()[0].unusable.empty());
  server_.executor.trouble.reset();
  run_until(70.0);
  EXPECT_EQ(running(), 8U);
  EXPECT_TRUE(server_.scheduler->gpus()[0].unusable.empty());
}

TEST_F(MachineTrouble, OfAUserLetsOtherUsersStart) {
  server_.executor.trouble = TroubleScope::User;
  for (int i = 0; i < 300; ++i) {
    jobs_.push_back(server_.submit(stub_job(20)));
  }
  server_.step(0.0);
  server_.executor.trouble.reset();
  const JobId other = server_.submit(stub_job(20), 0.5, 1001);
  server_.step(0.5);
  EXPECT_TRUE(server_.runs(other));
  EXPECT_EQ(running(), 1U);
  EXPECT_EQ(
      reason(jobs_.back()),
      "waiting 1 s because the machine could not start a job of this user: no descriptor left");
  run_until(10.0);
  EXPECT_EQ(running(), 4U);
}

TEST_F(MachineTrouble, OfAJobLetsAllOthersStart) {
  server_.executor.trouble = TroubleScope::Job;
  const JobId job = server_.submit(stub_job(10));
  server_.step(0.0);
  server_.executor.trouble.reset();
  const JobId other = server_.submit(stub_job(10), 0.5);
  server_.step(0.5);
  EXPECT_TRUE(server_.runs(other));
  EXPECT_EQ(reason(job), "waiting 1 s because the machine could not start it: no descriptor left");
  const auto explained = explain(*server_.scheduler, job);
  ASSERT_TRUE(explained);
  EXPECT_EQ(explained->binding->constraint, Constraint::Machine);
  EXPECT_TRUE(explained->changes.empty());
  run_until(2.0);
  EXPECT_TRUE(server_.runs(job));
}

TEST_F(MachineTrouble, ThatComesAndGoesHasGrowingPausesToo) {
  server_.executor.most_running = 3;  // a limit of the machine
  submit_many(200);
  while (now_ < 60.0) {
    run_until(now_ + 1.0);
    // One job ends each second, so that one attempt succeeds.
    server_.executor.end(server_.executor.running.begin()->first, {.end = RunEnd::Succeeded});
  }
  EXPECT_LE(server_.executor.troubled, 100);
}

TEST_F(MachineTrouble, PausesGrowToAMinuteWhereItLasts) {
  server_.executor.trouble = TroubleScope::Machine;
  server_.submit(stub_job(10));
  server_.step(0.0);
  std::vector<double> pauses;
  for (double seen = -1.0; now_ < 2000.0;) {
    const Trouble& trouble = server_.scheduler->troubles().begin()->second;
    if (trouble.until_s != seen) {
      seen = trouble.until_s;
      pauses.push_back(std::round(trouble.pause_s));
    }
    run_until(now_ + 0.5);
  }
  EXPECT_EQ(std::vector<double>(pauses.begin(), pauses.begin() + 6),
            (std::vector<double>{1, 2, 4, 8, 8, 8}));
  EXPECT_EQ(pauses.back(), 60.0);
}

TEST_F(MachineTrouble, OfAnAttemptThatWasToBeCancelledEndsItAsCancelled) {
  server_.executor.silent = true;
  const JobId job = server_.submit(stub_job(10));
  server_.step(0.0);
  ASSERT_TRUE(server_.scheduler->cancel(job, "u1000", 1.0));
  server_.end(job, {.end = RunEnd::MachineTrouble, .scope = TroubleScope::Machine}, 2.0);
  EXPECT_EQ(server_.record(job).end, RunEnd::Cancelled);
}

TEST_F(MachineTrouble, OfAJobThatIsCancelledIsForgotten) {
  server_.executor.trouble = TroubleScope::Job;
  const JobId job = server_.submit(stub_job(10));
  server_.step(0.0);
  ASSERT_TRUE(server_.scheduler->cancel(job, "u1000", 0.5));
  server_.executor.trouble.reset();
  server_.submit(stub_job(10), 1.0);
  server_.step(1.0);
  EXPECT_TRUE(server_.scheduler->troubles().empty());
}

TEST_F(MachineTrouble, ReservationForAnImpatientJobDoesNotMakeAnUnusableGpuUsable) {
  JobSpec wide = stub_job(10);
  wide.gpus = 2;
  server_.submit(stub_job(10, 1e6));
  server_.step(0.0);
  server_.submit(wide, 1.0);
  server_.step(1.0);
  server_.scheduler->observe({.gpu = 1, .unusable = "lost"}, 2.0);
  server_.step(3000.0);
  server_.submit(stub_job(10), 3001.0);
  server_.step(3001.0);
  EXPECT_EQ(server_.scheduler->gpus()[1].unusable, "lost");
}

}  // namespace
}  // namespace carpool::schedule
