// What holds for every Executor. A test program instantiates the suite with a bench:
//
//   Executor& executor();
//   LaunchSpec short_job(RunId run);    // succeeds by itself
//   LaunchSpec lasting_job(RunId run);  // runs until it is stopped
//   bool wait();                        // for something to happen; false: nothing will
//   void await_begin(RunId run);        // the job runs
//   void await_end(RunId run);          // the job has ended; no report is taken
//   void restart();                     // as after `kill -9` of the server
//   void refuse_launches();             // until restart(), launch() cannot succeed
//   static constexpr bool kOutlivesServer;  // jobs run on after `kill -9` of the server
#pragma once

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "core/executor.hpp"

namespace carpool {

template <class Bench>
class ExecutorContract : public testing::Test {
 protected:
  void launch(const LaunchSpec& spec) {
    const auto launched = bench_.executor().launch(spec);
    ASSERT_TRUE(launched) << launched.error().detail;
  }

  // Every end that is reported until `run` has ended.
  [[nodiscard]] std::vector<RunReport> ends_until(RunId run) {
    std::vector<RunReport> ends;
    do {
      for (const RunReport& report : bench_.executor().take_reports()) {
        if (report.kind == RunReport::Kind::Ended) {
          ends.push_back(report);
        }
      }
      if (std::ranges::find(ends, run, &RunReport::run) != ends.end()) {
        return ends;
      }
    } while (bench_.wait());
    ADD_FAILURE() << "no end of run " << run.job << "." << run.attempt << " is reported";
    return ends;
  }

  [[nodiscard]] RunEnd end_of(RunId run) {
    const auto ends = ends_until(run);
    EXPECT_EQ(ends.size(), 1U) << "unexpected ends";
    return ends.empty() ? RunEnd::Lost : ends.back().exit.end;
  }

  // Whatever would be reported late is reported before the end of a job that begins now.
  void expect_no_more_ends(JobId another_job) {
    const RunId run{another_job, 1};
    launch(bench_.short_job(run));
    EXPECT_EQ(end_of(run), RunEnd::Succeeded);
  }

  [[nodiscard]] FoundRun found(const LaunchSpec& spec) {
    const auto answer = bench_.executor().find(spec);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer.value_or(FoundRun{});
  }

  Bench bench_;
};

TYPED_TEST_SUITE_P(ExecutorContract);

TYPED_TEST_P(ExecutorContract, AnEndIsReportedOnce) {
  const RunId run{1, 1};
  this->launch(this->bench_.short_job(run));
  const auto ends = this->ends_until(run);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].exit.end, RunEnd::Succeeded);
  EXPECT_EQ(ends[0].exit.code, 0);
  EXPECT_GT(ends[0].exit.at_s, 0.0);
  this->expect_no_more_ends(2);
}

// The scheduler waits for it after trouble of the machine.
TYPED_TEST_P(ExecutorContract, ARunThatLastsIsReportedAsRunning) {
  const RunId run{1, 1};
  this->launch(this->bench_.lasting_job(run));
  bool running = false;
  do {
    for (const RunReport& report : this->bench_.executor().take_reports()) {
      EXPECT_EQ(report.kind, RunReport::Kind::Running);
      running = running || report.run == run;
    }
  } while (!running && this->bench_.wait());
  EXPECT_TRUE(running);
  this->bench_.executor().stop(run, StopMode::Kill);
  EXPECT_EQ(this->end_of(run), RunEnd::Cancelled);
}

TYPED_TEST_P(ExecutorContract, AStoppedRunIsCancelledOnceHoweverOftenItIsStopped) {
  const RunId run{1, 1};
  this->launch(this->bench_.lasting_job(run));
  this->bench_.await_begin(run);
  this->bench_.executor().stop(run, StopMode::Ask);
  this->bench_.executor().stop(run, StopMode::Ask);
  this->bench_.executor().stop(run, StopMode::Kill);
  EXPECT_EQ(this->end_of(run), RunEnd::Cancelled);
  this->expect_no_more_ends(2);
}

TYPED_TEST_P(ExecutorContract, ARunThatHasNotBegunYetCanBeStopped) {
  const RunId run{1, 1};
  this->launch(this->bench_.lasting_job(run));
  this->bench_.executor().stop(run, StopMode::Kill);
  EXPECT_EQ(this->end_of(run), RunEnd::Cancelled);
}

TYPED_TEST_P(ExecutorContract, StoppingAnEndedOrUnknownRunDoesNothing) {
  const RunId ended{1, 1};
  this->launch(this->bench_.short_job(ended));
  EXPECT_EQ(this->end_of(ended), RunEnd::Succeeded);
  this->bench_.executor().stop(ended, StopMode::Ask);
  this->bench_.executor().stop(ended, StopMode::Kill);
  this->bench_.executor().stop({2, 7}, StopMode::Kill);
  this->expect_no_more_ends(2);
}

TYPED_TEST_P(ExecutorContract, AStopReachesOnlyItsOwnRun) {
  const RunId stopped{1, 1};
  const RunId other{2, 1};
  this->launch(this->bench_.lasting_job(stopped));
  this->launch(this->bench_.lasting_job(other));
  this->bench_.await_begin(stopped);
  this->bench_.await_begin(other);
  this->bench_.executor().stop(stopped, StopMode::Kill);
  EXPECT_EQ(this->end_of(stopped), RunEnd::Cancelled);
  this->bench_.executor().stop(other, StopMode::Kill);
  EXPECT_EQ(this->end_of(other), RunEnd::Cancelled);
}

TYPED_TEST_P(ExecutorContract, APausedRunIsStoppedLikeAnyOther) {
  const RunId run{1, 1};
  this->launch(this->bench_.lasting_job(run));
  this->bench_.await_begin(run);
  this->bench_.executor().pause(run);
  this->bench_.executor().pause(run);
  this->bench_.executor().stop(run, StopMode::Ask);
  this->bench_.executor().pause(run);
  EXPECT_EQ(this->end_of(run), RunEnd::Cancelled);
}

TYPED_TEST_P(ExecutorContract, APausedRunGoesOnAndEndsWell) {
  const RunId run{1, 1};
  this->launch(this->bench_.short_job(run));
  this->bench_.executor().pause(run);
  this->bench_.executor().resume(run);
  this->bench_.executor().resume(run);
  EXPECT_EQ(this->end_of(run), RunEnd::Succeeded);
  this->bench_.executor().pause(run);
  this->bench_.executor().resume(run);
  this->bench_.executor().pause({2, 7});
  this->bench_.executor().resume({2, 7});
  this->expect_no_more_ends(2);
}

TYPED_TEST_P(ExecutorContract, ARunWhoseLaunchFailedNeverBegins) {
  this->bench_.refuse_launches();
  const LaunchSpec refused = this->bench_.short_job({1, 1});
  const auto launched = this->bench_.executor().launch(refused);
  ASSERT_FALSE(launched);
  EXPECT_FALSE(launched.error().detail.empty());
  this->bench_.restart();
  EXPECT_EQ(this->found(refused).state, FoundRun::State::NeverBegan);
  this->expect_no_more_ends(2);
}

TYPED_TEST_P(ExecutorContract, ARunThatWasFoundNotToHaveBegunNeverBegins) {
  const LaunchSpec late = this->bench_.short_job({1, 1});
  EXPECT_EQ(this->found(late).state, FoundRun::State::NeverBegan);
  if (this->bench_.executor().launch(late)) {
    EXPECT_EQ(this->end_of({1, 1}), RunEnd::NeverStarted);
  }
  this->expect_no_more_ends(2);
}

TYPED_TEST_P(ExecutorContract, ARestartFindsWhatIsLeftOfARunningJob) {
  const RunId run{1, 1};
  this->launch(this->bench_.lasting_job(run));
  this->bench_.await_begin(run);
  this->bench_.restart();
  const FoundRun left = this->found(this->bench_.lasting_job(run));
  if constexpr (TypeParam::kOutlivesServer) {
    ASSERT_EQ(left.state, FoundRun::State::Running);
    this->bench_.executor().stop(run, StopMode::Kill);
    EXPECT_EQ(this->end_of(run), RunEnd::Cancelled);
  } else {
    EXPECT_EQ(left.state, FoundRun::State::NeverBegan);
  }
  this->launch(this->bench_.short_job({1, 2}));
  EXPECT_EQ(this->end_of({1, 2}), RunEnd::Succeeded);
}

TYPED_TEST_P(ExecutorContract, ARestartFindsTheEndThatNobodyHasSeen) {
  const RunId run{1, 1};
  this->launch(this->bench_.short_job(run));
  this->bench_.await_end(run);
  this->bench_.restart();
  const FoundRun left = this->found(this->bench_.short_job(run));
  if constexpr (TypeParam::kOutlivesServer) {
    EXPECT_EQ(left.state, FoundRun::State::Ended);
    EXPECT_EQ(left.exit.end, RunEnd::Succeeded);
  } else {
    EXPECT_EQ(left.state, FoundRun::State::NeverBegan);
  }
  this->expect_no_more_ends(2);
}

REGISTER_TYPED_TEST_SUITE_P(ExecutorContract,
                            AnEndIsReportedOnce,
                            ARunThatLastsIsReportedAsRunning,
                            AStoppedRunIsCancelledOnceHoweverOftenItIsStopped,
                            ARunThatHasNotBegunYetCanBeStopped,
                            StoppingAnEndedOrUnknownRunDoesNothing,
                            AStopReachesOnlyItsOwnRun,
                            APausedRunIsStoppedLikeAnyOther,
                            APausedRunGoesOnAndEndsWell,
                            ARunWhoseLaunchFailedNeverBegins,
                            ARunThatWasFoundNotToHaveBegunNeverBegins,
                            ARestartFindsWhatIsLeftOfARunningJob,
                            ARestartFindsTheEndThatNobodyHasSeen);

}  // namespace carpool
