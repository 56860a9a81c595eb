// What holds for every JobJournal. A test program instantiates the suite with a bench:
//
//   JobJournal& journal();
//   void reopen();   // as another server would: only what was appended is left
#pragma once

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/job_history.hpp"
#include "core/job_journal.hpp"
#include "core/json/job_json.hpp"
#include "core/tests/job_events.hpp"

namespace carpool {

template <class Bench>
class JobJournalContract : public testing::Test {
 protected:
  void append(std::vector<JobEvent>& events) {
    const auto appended = bench_.journal().append(events);
    ASSERT_TRUE(appended) << appended.error().message;
  }
  void append_copy(std::vector<JobEvent> events) { append(events); }

  [[nodiscard]] std::vector<JobEvent> replayed() {
    auto events = replayed_events(bench_.journal());
    EXPECT_TRUE(events) << events.error().message;
    return events.value_or(std::vector<JobEvent>());
  }

  // A journal tells the highest job itself, or by what it replays.
  [[nodiscard]] JobId highest_job() {
    const auto told = bench_.journal().last_job();
    EXPECT_TRUE(told);
    JobId highest = told.value_or(0);
    for (const JobEvent& event : replayed()) {
      highest = std::max(highest, event.job);
    }
    return highest;
  }

  [[nodiscard]] std::optional<RunEnd> end_of(JobId job) {
    const auto told = bench_.journal().outcome(job);
    EXPECT_TRUE(told);
    std::optional<RunEnd> end = told.value_or(std::nullopt);
    for (const JobEvent& event : replayed()) {
      const auto* closed = std::get_if<JobClosed>(&event.what);
      if (closed != nullptr && event.job == job) {
        EXPECT_TRUE(!end || *end == closed->end) << "outcome() and replay() differ";
        end = closed->end;
      }
    }
    return end;
  }

  // Of one workload; empty: the journal leaves it to its reader.
  [[nodiscard]] std::optional<JobHistory> history() {
    auto told = bench_.journal().history();
    EXPECT_TRUE(told);
    return told ? std::move(*told) : std::nullopt;
  }

  Bench bench_;
};

TYPED_TEST_SUITE_P(JobJournalContract);

TYPED_TEST_P(JobJournalContract, AnEmptyJournalKnowsNoJob) {
  EXPECT_TRUE(this->replayed().empty());
  EXPECT_EQ(this->highest_job(), 0);
  EXPECT_FALSE(this->end_of(1));
}

TYPED_TEST_P(JobJournalContract, EventsAreNumberedFromOneOnInOrder) {
  std::vector<JobEvent> first = {submitted_event(1, 0.5), submitted_event(2, 0.5)};
  this->append(first);
  this->append_copy({});
  this->bench_.reopen();
  std::vector<JobEvent> second = {job_event(1, 1.0, JobHeld{})};
  this->append(second);
  EXPECT_EQ(first[0].sequence, 1);
  EXPECT_EQ(first[1].sequence, 2);
  EXPECT_EQ(second[0].sequence, 3);
}

TYPED_TEST_P(JobJournalContract, EveryKindOfEventIsReplayedInOrderAsItWasAppended) {
  std::vector<JobEvent> events = {
      submitted_event(2, 0.5),
      submitted_event(1, 0.5),
      job_event(1, 1.0, JobHeld{}),
      job_event(1, 2.0, JobReleased{}),
      job_event(2,
                3.0,
                JobStarted{.attempt = 1,
                           .gpus = {0, 3},
                           .mechanism = ShareMechanism::Mps,
                           .thread_limit = 40.0,
                           .reserved_bytes = 1000,
                           .predicted_progress = 0.75,
                           .reason = "room"}),
      job_event(2, 4.0, JobStopAsked{.by = "u", .final = false}),
      job_event(2,
                5.0,
                JobEnded{.attempt = 1,
                         .exit = {.end = RunEnd::OutOfMemory, .code = 1, .detail = "full"},
                         .peak_bytes = 2000}),
      job_event(2, 5.0, JobRequeued{.reason = "r", .reserve_bytes = 4000, .exclusive = true}),
      job_event(2, 6.0, JobClosed{.end = RunEnd::Cancelled, .reason = "by u"})};
  this->append(events);
  this->bench_.reopen();
  const auto read = this->replayed();
  ASSERT_EQ(read.size(), events.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].sequence, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(event_line(read[i]), event_line(events[i]));
  }
}

TYPED_TEST_P(JobJournalContract, AFailedAppendLeavesNothingBehind) {
  std::vector<JobEvent> same_job_twice = {submitted_event(1, 0.0), submitted_event(1, 0.0)};
  EXPECT_FALSE(this->bench_.journal().append(same_job_twice));
  EXPECT_EQ(same_job_twice[0].sequence, 0);
  EXPECT_EQ(same_job_twice[1].sequence, 0);
  EXPECT_TRUE(this->replayed().empty());
  EXPECT_EQ(this->highest_job(), 0);
  std::vector<JobEvent> once = {submitted_event(1, 0.0)};
  this->append(once);
  EXPECT_EQ(once[0].sequence, 1);
}

TYPED_TEST_P(JobJournalContract, TheHighestJobAndEveryEndAreKnownAfterReopening) {
  this->append_copy(whole_life(1, 0.0));
  this->append_copy(whole_life(2, 1000.0, RunEnd::Failed));
  this->append_copy(whole_life(9, 2000.0, RunEnd::TimeLimit));
  this->append_copy({submitted_event(3, 3000.0)});
  this->bench_.reopen();
  EXPECT_EQ(this->highest_job(), 9);
  EXPECT_EQ(this->end_of(1), RunEnd::Succeeded);
  EXPECT_EQ(this->end_of(2), RunEnd::Failed);
  EXPECT_EQ(this->end_of(9), RunEnd::TimeLimit);
  EXPECT_FALSE(this->end_of(3)) << "it has not ended";
  EXPECT_FALSE(this->end_of(7)) << "there is no such job";
}

TYPED_TEST_P(JobJournalContract, JobsThatHaveNotEndedAreAlwaysReplayedInFull) {
  this->append_copy({submitted_event(1, 0.0), job_event(1, 0.0, JobHeld{})});
  for (JobId job = 2; job <= 6; ++job) {
    this->append_copy(whole_life(job, 10.0));
  }
  this->append_copy({job_event(1, 500.0, JobReleased{})});
  this->bench_.reopen();
  std::vector<std::int64_t> living;
  for (const JobEvent& event : this->replayed()) {
    if (event.job == 1) {
      living.push_back(event.sequence);
    }
  }
  EXPECT_EQ(living, (std::vector<std::int64_t>{1, 2, 23}));
}

TYPED_TEST_P(JobJournalContract, HistoryHoldsEveryAttemptThatEndedOrIsLeftToReplay) {
  this->append_copy(whole_life(1, 0.0));
  this->append_copy(whole_life(2, 1000.0));
  this->bench_.reopen();
  if (const auto history = this->history()) {
    EXPECT_EQ(history->need(1000, "w")->peak_bytes, 1000U);
    EXPECT_DOUBLE_EQ(history->runtime_s(1000, "w").value_or(0.0), 100.0);
    EXPECT_FALSE(history->need(1000, "another"));
    EXPECT_FALSE(history->need(1001, "w")) << "of another user";
  } else {
    const auto ends = [](const JobEvent& event) {
      return std::holds_alternative<JobEnded>(event.what);
    };
    EXPECT_EQ(std::ranges::count_if(this->replayed(), ends), 2);
  }
}

REGISTER_TYPED_TEST_SUITE_P(JobJournalContract,
                            AnEmptyJournalKnowsNoJob,
                            EventsAreNumberedFromOneOnInOrder,
                            EveryKindOfEventIsReplayedInOrderAsItWasAppended,
                            AFailedAppendLeavesNothingBehind,
                            TheHighestJobAndEveryEndAreKnownAfterReopening,
                            JobsThatHaveNotEndedAreAlwaysReplayedInFull,
                            HistoryHoldsEveryAttemptThatEndedOrIsLeftToReplay);

}  // namespace carpool
