// What the files of a run folder say after a restart: whose attempt it is and how it ended.
#include <csignal>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "run/run_records.hpp"
#include "run/tests/process_bench.hpp"

namespace carpool::run {
namespace {

class AttemptRecord : public testing::Test {
 protected:
  static constexpr RunId kRun{1, 1};

  // A job that has ended and whose end no server has seen.
  void run_unseen(const std::vector<std::string>& argv = {"true"}) {
    const auto launched = bench_.executor().launch(bench_.spec(argv, kRun));
    ASSERT_TRUE(launched) << launched.error().detail;
    bench_.await_end(kRun);
    bench_.restart();
  }

  [[nodiscard]] std::filesystem::path file(const char* name) const {
    return bench_.folder(kRun).path() / name;
  }
  void overwrite(const char* name, const std::string& content) const {
    std::ofstream(file(name), std::ios::trunc) << content;
  }

  [[nodiscard]] FoundRun found() {
    const auto answer = bench_.executor().find(bench_.short_job(kRun));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer.value_or(FoundRun{});
  }

  ProcessBench bench_;
};

TEST_F(AttemptRecord, ADamagedExitFileIsReplacedByItsCopy) {
  run_unseen({"sh", "-c", "exit 7"});
  const std::string whole = *read_file(file("exit"));
  for (const std::string& damaged : {std::string(),
                                     std::string("garbage"),
                                     whole.substr(0, whole.size() / 2),
                                     std::string(whole).replace(whole.find(":7"), 2, ":0")}) {
    for (const char* name : {"exit", "exit.copy"}) {
      overwrite("exit", whole);
      overwrite("exit.copy", whole);
      overwrite(name, damaged);
      const FoundRun run = found();
      EXPECT_EQ(run.state, FoundRun::State::Ended);
      EXPECT_EQ(run.exit.code, 7) << name << ": " << damaged;
    }
  }
}

TEST_F(AttemptRecord, AJobWhoseExitRecordsAreBothDamagedIsNotStartedAgain) {
  run_unseen();
  const auto other = write_exit({.code = 0, .at_s = 1.0, .journal = "another"});
  for (const std::string& damaged : {std::string(), std::string("{}"), other}) {
    overwrite("exit", damaged);
    overwrite("exit.copy", damaged);
    const FoundRun run = found();
    EXPECT_EQ(run.state, FoundRun::State::Ended);
    EXPECT_EQ(run.exit.end, RunEnd::Failed) << "a lost attempt would be followed by another";
    EXPECT_NE(run.exit.detail.find("its exit record is damaged"), std::string::npos);
  }
}

TEST_F(AttemptRecord, WhatCannotBeReadNowDecidesNothing) {
  run_unseen();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &none);
  const auto answer = bench_.executor().find(bench_.short_job(kRun));
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(answer);
  EXPECT_EQ(found().exit.end, RunEnd::Succeeded);
}

TEST_F(AttemptRecord, ARunningJobIsNotTakenForLostWithoutDescriptors) {
  ASSERT_TRUE(bench_.executor().launch(bench_.lasting_job(kRun)));
  bench_.await_begin(kRun);
  bench_.restart();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &none);
  const auto answer = bench_.executor().find(bench_.lasting_job(kRun));
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(answer);
  EXPECT_EQ(found().state, FoundRun::State::Running);
}

TEST_F(AttemptRecord, AnAttemptOfAnotherJournalIsNeverOurs) {
  run_unseen({"echo", "secret"});
  const std::string claim = *read_file(file("claim"));
  ProcessExecutorSettings settings = bench_.settings();
  settings.journal = "a-new-journal";
  bench_.open(settings);
  const auto launched = bench_.executor().launch(bench_.short_job(kRun));
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().end, RunEnd::MachineTrouble);
  EXPECT_EQ(launched.error().scope, TroubleScope::Job);
  EXPECT_NE(launched.error().detail.find("belongs to the journal journal-of-the-bench"),
            std::string::npos)
      << launched.error().detail;
  const FoundRun run = found();
  EXPECT_EQ(run.state, FoundRun::State::Ended);
  EXPECT_EQ(run.exit.end, RunEnd::MachineTrouble);
  EXPECT_EQ(read_file(file("claim")), claim);
  EXPECT_FALSE(bench_.folder(kRun).belongs_to("a-new-journal"));
  EXPECT_TRUE(bench_.folder(kRun).belongs_to("journal-of-the-bench"));
}

TEST_F(AttemptRecord, AnAttemptOfAnOlderVersionIsFoundAndNotLaunchedAgain) {
  run_unseen();
  overwrite("claim", R"({"abandoned":false,"boot":"x","pid":1,"start_ticks":1})");
  overwrite("exit",
            R"({"at_s":12.5,"code":0,"host_memory":false,"mps_fault":false,"stop_asked":false})");
  std::filesystem::remove(file("exit.copy"));
  EXPECT_FALSE(bench_.executor().launch(bench_.short_job(kRun)));
  const FoundRun run = found();
  EXPECT_EQ(run.exit.end, RunEnd::Succeeded);
  EXPECT_EQ(run.exit.at_s, 12.5);
}

TEST_F(AttemptRecord, ARunningJobWhoseClaimIsDamagedOrRemovedIsFound) {
  ASSERT_TRUE(bench_.executor().launch(bench_.lasting_job(kRun)));
  bench_.await_begin(kRun);
  bench_.restart();
  overwrite("claim", "gar");
  EXPECT_EQ(found().state, FoundRun::State::Running);
  std::filesystem::remove(file("claim"));
  EXPECT_EQ(found().state, FoundRun::State::Running);
  bench_.executor().stop(kRun, StopMode::Kill);
  const auto exit = bench_.end_of(kRun);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Cancelled);
}

TEST_F(AttemptRecord, AnEndIsDatedOnTheClockOfTheScheduler) {
  run_unseen();
  ProcessExecutorSettings settings = bench_.settings();
  const double began_s = boot_seconds();
  settings.clock = [began_s] { return 1000.0 + boot_seconds() - began_s; };
  bench_.open(settings);
  const double at_s = found().exit.at_s;
  EXPECT_LE(at_s, 1000.0);
  EXPECT_GT(at_s, 1000.0 - 120.0);
}

TEST_F(AttemptRecord, AFifoAsOutputHoldsNobodyUp) {
  ASSERT_TRUE(bench_.executor().launch(
      bench_.spec({"sh", "-c", "cd $CARPOOL_RUN_FOLDER; rm stderr; mkfifo stderr; exit 3"}, kRun)));
  const auto exit = bench_.end_of(kRun);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 3);
}

}  // namespace
}  // namespace carpool::run
