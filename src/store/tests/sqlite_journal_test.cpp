#include "store/sqlite_journal.hpp"

#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "base/process/child_process.hpp"
#include "base/tests/temporary_folder.hpp"
#include "core/tests/job_events.hpp"
#include "core/workload_identity.hpp"

namespace carpool::store {
namespace {

class SqliteJournalTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<SqliteJournal> open(std::size_t replay_ended = 1000) const {
    auto journal = SqliteJournal::open(folder_, {.replay_ended = replay_ended});
    EXPECT_TRUE(journal) << journal.error().message;
    return journal ? std::move(*journal) : nullptr;
  }
  [[nodiscard]] std::string refusal() const {
    const auto journal = SqliteJournal::open(folder_, {});
    return journal ? std::string() : journal.error().message;
  }

  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
};

std::vector<JobEvent> replayed(const SqliteJournal& journal) {
  auto events = replayed_events(journal);
  EXPECT_TRUE(events) << events.error().message;
  return events.value_or(std::vector<JobEvent>());
}

TEST_F(SqliteJournalTest, OnlyTheLatestEndedJobsAreReplayedAndTheRestIsKnown) {
  {
    const auto journal = open();
    for (JobId job = 1; job <= 5; ++job) {
      auto life = whole_life(
          job, static_cast<double>(job) * 1000.0, job == 2 ? RunEnd::Failed : RunEnd::Succeeded);
      ASSERT_TRUE(journal->append(life));
    }
    std::vector<JobEvent> alive = {submitted_event(6, 9000.0)};
    ASSERT_TRUE(journal->append(alive));
  }
  const auto journal = open(/*replay_ended=*/2);
  const auto events = replayed(*journal);
  EXPECT_EQ(events.size(), 9U);  // of jobs 4, 5 and 6
  EXPECT_EQ(events.front().job, 4);
  EXPECT_EQ(*journal->last_job(), 6);
  EXPECT_EQ(**journal->outcome(1), RunEnd::Succeeded);
  EXPECT_EQ(**journal->outcome(2), RunEnd::Failed);
  EXPECT_FALSE(journal->outcome(6)->has_value());
  EXPECT_FALSE(journal->outcome(7)->has_value());
  const auto record = journal->record_of(1);
  ASSERT_TRUE(record && *record);
  EXPECT_EQ((*record)->code(), "CD");
  EXPECT_EQ(journal->events_of(1)->size(), 4U);
  EXPECT_FALSE(journal->record_of(77)->has_value());
}

TEST_F(SqliteJournalTest, HistoryListsEndedJobsNewestFirst) {
  const auto journal = open();
  for (JobId job = 1; job <= 3; ++job) {
    auto life = whole_life(job, static_cast<double>(job) * 1000.0);
    ASSERT_TRUE(journal->append(life));
  }
  const auto all = journal->ended_jobs({.most = 2});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->front().id, 3);
  EXPECT_EQ(all->front().owner.user, "u");
  EXPECT_DOUBLE_EQ(*all->front().started_s, 3001.0);
  EXPECT_EQ(journal->ended_jobs({.before = 3})->front().id, 2);
  EXPECT_TRUE(journal->ended_jobs({.uid = 5})->empty());
}

TEST_F(SqliteJournalTest, JobsAreFoundInTheOrderOfTheirEnds) {
  const auto journal = open();
  for (const JobId job : {1, 2, 3}) {  // the first one ends last
    auto life = whole_life(job, job == 1 ? 9000.0 : static_cast<double>(job) * 1000.0);
    ASSERT_TRUE(journal->append(life));
  }
  const auto all = journal->ended_after({}, 10);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ(all->at(0).id, 2);
  EXPECT_EQ(all->at(2).id, 1);
  EXPECT_EQ(journal->ended_after({}, 1)->front().id, 2);
  EXPECT_EQ(journal->ended_after(all->at(1), 10)->front().id, 1);
  EXPECT_EQ(journal->ended_after({.ended_s = all->at(1).ended_s}, 10)->front().id, 3);
  EXPECT_TRUE(journal->ended_after(all->at(2), 10)->empty());
}

TEST_F(SqliteJournalTest, HistoryHasRunTimesWithoutPausesAndTheBelievedProgress) {
  const auto journal = open();
  std::vector<JobEvent> life = {
      submitted_event(1, 0.0),
      job_event(1, 1.0, JobStarted{.attempt = 1, .gpus = {0}, .predicted_progress = 0.9}),
      job_event(1, 5.0, JobPaused{}),
      job_event(1, 10.0, JobResumed{}),
      job_event(
          1,
          21.0,
          JobEnded{
              .attempt = 1, .exit = {.end = RunEnd::Succeeded}, .progress = 0.5, .paused_s = 5.0}),
      job_event(1, 21.0, JobClosed{})};
  ASSERT_TRUE(journal->append(life));
  const auto history = journal->history();
  ASSERT_TRUE(history);
  const JobOwner owner = std::get<JobSubmitted>(life.front().what).owner;
  const std::string key = workload_key(std::get<JobSubmitted>(life.front().what).spec);
  EXPECT_DOUBLE_EQ(*(*history)->runtime_s(owner.uid, key), 7.5);  // 15 s at half its solo speed
}

TEST_F(SqliteJournalTest, HistoryGivesPeaksByEndOfAttemptsAndCommandsOnDemand) {
  const auto journal = open();
  std::vector<JobEvent> life = {submitted_event(1, 0.0)};
  const auto attempt = [&](unsigned number, RunEnd end, std::optional<std::uint64_t> peak) {
    life.push_back(job_event(1, 1.0, JobStarted{.attempt = number, .gpus = {0}}));
    life.push_back(
        job_event(1, 2.0, JobEnded{.attempt = number, .exit = {.end = end}, .peak_bytes = peak}));
  };
  attempt(1, RunEnd::OutOfMemory, 3000);
  attempt(2, RunEnd::OutOfMemory, std::nullopt);
  attempt(3, RunEnd::Lost, 2000);
  attempt(4, RunEnd::Succeeded, 5000);
  life.push_back(job_event(1, 3.0, JobClosed{.end = RunEnd::Succeeded}));
  ASSERT_TRUE(journal->append(life));
  auto failed = whole_life(2, 10.0, RunEnd::Failed);
  ASSERT_TRUE(journal->append(failed));
  auto script = whole_life(3, 20.0);
  std::get<JobSubmitted>(script.front().what).spec.argv.emplace_back(100'000, 'x');
  ASSERT_TRUE(journal->append(script));

  const auto plain = journal->ended_jobs({});
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->at(2).peak_bytes, 5000U);
  EXPECT_EQ(plain->at(2).failed_peak_bytes, 3000U);
  EXPECT_FALSE(plain->at(1).peak_bytes);
  EXPECT_EQ(plain->at(1).failed_peak_bytes, 1000U);
  EXPECT_FALSE(plain->at(2).spec);
  const auto whole = journal->ended_jobs({.with_specs = true});
  ASSERT_TRUE(whole) << whole.error().message;
  ASSERT_TRUE(whole->at(2).spec);
  EXPECT_EQ(whole->at(2).spec->argv, std::vector<std::string>{"a"});
  EXPECT_FALSE(whole->at(0).spec) << "very large specs are left out";
}

TEST_F(SqliteJournalTest, MemoryAndTimeOfRunsAreKept) {
  {
    const auto journal = open();
    auto life = whole_life(1, 0.0);
    ASSERT_TRUE(journal->append(life));
  }
  const auto history = open(/*replay_ended=*/0)->history();
  ASSERT_TRUE(history && *history);
  EXPECT_EQ((*history)->need(1000, "w")->peak_bytes, 1000U);
  EXPECT_DOUBLE_EQ(*(*history)->runtime_s(1000, "w"), 100.0);
}

TEST_F(SqliteJournalTest, TheTimeOfTheLastEventIsKnown) {
  EXPECT_DOUBLE_EQ(*open()->last_event_s(), 0.0);
  const auto journal = open();
  auto life = whole_life(1, 500.0);
  ASSERT_TRUE(journal->append(life));
  EXPECT_DOUBLE_EQ(*journal->last_event_s(), 601.0);
}

TEST_F(SqliteJournalTest, TwoServersNeverShareAFolder) {
  const auto first = open();
  EXPECT_NE(refusal().find(fmt::format("process {}", getpid())), std::string::npos);
}

TEST_F(SqliteJournalTest, AFileOfANewerVersionIsRefusedAndNotChanged) {
  open().reset();
  {
    auto database = SqlDatabase::open(folder_ / "jobs.sqlite");
    ASSERT_TRUE(database->execute("INSERT INTO migrations VALUES(99, 'later')"));
  }
  EXPECT_NE(refusal().find("newer Carpool"), std::string::npos);
  auto database = SqlDatabase::open(folder_ / "jobs.sqlite");
  EXPECT_EQ(*database->number("SELECT max(version) FROM migrations"), 99);
}

TEST_F(SqliteJournalTest, AFileThatIsNotADatabaseIsRefusedAndNotChanged) {
  const std::string text(5000, 'x');
  ASSERT_TRUE(write_file(folder_ / "jobs.sqlite", text));
  EXPECT_NE(refusal().find("move it away"), std::string::npos);
  EXPECT_EQ(*read_file(folder_ / "jobs.sqlite"), text);
}

TEST_F(SqliteJournalTest, ADatabaseOfAnotherProgramIsRefused) {
  {
    auto database = SqlDatabase::open(folder_ / "jobs.sqlite");
    ASSERT_TRUE(database->execute("CREATE TABLE theirs(a)"));
  }
  EXPECT_NE(refusal().find("another program"), std::string::npos);
}

TEST_F(SqliteJournalTest, ADamagedEventIsNamed) {
  {
    const auto journal = open();
    std::vector<JobEvent> events = {submitted_event(1, 0.0)};
    ASSERT_TRUE(journal->append(events));
  }
  {
    auto database = SqlDatabase::open(folder_ / "jobs.sqlite");
    ASSERT_TRUE(database->execute("UPDATE events SET body = '{\"job\":1}'"));
  }
  EXPECT_NE(refusal().find("wrong checksum at sequence 1"), std::string::npos) << refusal();
  EXPECT_NE(refusal().find("carpool journal repair"), std::string::npos);
}

TEST_F(SqliteJournalTest, AMissingFolderIsAnError) {
  const auto journal = SqliteJournal::open(folder_ / "nowhere", {});
  ASSERT_FALSE(journal);
  EXPECT_NE(journal.error().message.find("nowhere"), std::string::npos);
}

// The child appends batches of two events and writes to a pipe after each.
[[noreturn]] void append_for_ever(const std::filesystem::path& folder, int pipe) {
  auto journal = SqliteJournal::open(folder, {});
  const JobId first = journal ? *(*journal)->last_job() + 1 : 0;
  for (JobId job = first; journal; ++job) {
    std::vector<JobEvent> events = {submitted_event(job, 1.0), job_event(job, 1.0, JobHeld{})};
    if (!(*journal)->append(events) || ::write(pipe, &job, sizeof job) != sizeof job) {
      break;
    }
  }
  _exit(1);
}

TEST_F(SqliteJournalTest, AcknowledgedEventsSurviveKillMinusNine) {
  std::mt19937 random(7);
  JobId acknowledged = 0;
  for (int round = 0; round < 10; ++round) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(pipe[0]);
      append_for_ever(folder_, pipe[1]);
    }
    ::close(pipe[1]);
    // Killed while it writes, at a different moment in each round.
    const int batches = 1 + static_cast<int>(random() % 8);
    for (int i = 0; i < batches; ++i) {
      ASSERT_EQ(::read(pipe[0], &acknowledged, sizeof acknowledged),
                static_cast<ssize_t>(sizeof acknowledged));
    }
    pause_for(std::chrono::microseconds(random() % 3000));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    JobId late = 0;
    while (::read(pipe[0], &late, sizeof late) == static_cast<ssize_t>(sizeof late)) {
      acknowledged = late;
    }
    ::close(pipe[0]);

    const auto journal = open();
    ASSERT_NE(journal, nullptr);
    const auto events = replayed(*journal);
    EXPECT_EQ(events.size() % 2, 0U) << "half a batch";
    ASSERT_GE(static_cast<JobId>(events.size() / 2), acknowledged);
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].job, static_cast<JobId>(i / 2) + 1);
      EXPECT_EQ(events[i].sequence, static_cast<std::int64_t>(i) + 1);
    }
  }
}

}  // namespace
}  // namespace carpool::store
