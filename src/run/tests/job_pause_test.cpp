// Jobs that stand still and go on, with real processes.
#include "run/job_pause.hpp"

#include <algorithm>
#include <csignal>
#include <optional>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/files/proc_file.hpp"
#include "base/process/process_table.hpp"
#include "base/tests/thorough.hpp"
#include "run/job_cgroup.hpp"
#include "run/tests/process_bench.hpp"
#include "run/tests/scratch_cgroup.hpp"

namespace carpool::run {
namespace {

constexpr RunId kPaused{1, 1};

// The processes of a job, however it hides them: a child, one of another session, and a daemon that
// no parent knows.
constexpr const char* kManyProcesses =
    "sh -c '{0}' child & (setsid sh -c '{0}' daemon > /dev/null 2>&1 &) ; "
    "(sh -c 'sh -c \"$1\" orphan &' x '{0}') ; exec sh -c '{0}' leader";

class JobPauseTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      scratch_.emplace();
      if (scratch_->jobs().empty()) {
        GTEST_SKIP() << "no cgroup version 2 that this user may divide";
      }
    }
    bench_.emplace(GetParam() ? scratch_->jobs() : std::filesystem::path());
  }

  void start(const std::string& script, RunId run = kPaused) {
    ASSERT_TRUE(bench_->executor().launch(bench_->spec({"sh", "-c", script}, run)));
  }
  void start_many_processes() {
    const std::string ticker = "while :; do printf x >> $0; sleep 0.002; done";
    start(fmt::format(fmt::runtime(kManyProcesses), ticker));
    for (const std::string& name : names_) {
      await_growth(name);
    }
  }
  [[nodiscard]] std::size_t size_of(const std::string& name) const {
    std::error_code missing;
    const auto size = std::filesystem::file_size(bench_->root() / name, missing);
    return missing ? 0 : size;
  }
  void await_growth(const std::string& name) const {
    const std::size_t before = size_of(name);
    ProcessBench::await([&] { return size_of(name) > before; });
    EXPECT_GT(size_of(name), before) << name << " does not go on";
  }
  // The processes of the attempt, as its supervisor sees them.
  [[nodiscard]] std::vector<ProcessEntry> processes() const {
    const auto claim = bench_->folder(kPaused).claimed();
    return claim && *claim ? job_processes(list_processes(), (*claim)->supervisor.pid, 0)
                           : std::vector<ProcessEntry>{};
  }
  [[nodiscard]] bool stand_still() const {
    if (const auto cgroup = recorded_cgroup(bench_->folder(kPaused))) {
      return is_frozen(*cgroup);
    }
    // One that was forked while the others were looked at is found by a second look. A parent waits
    // in the kernel ('D') for a child of vfork() that stands still.
    const auto stands = [&] {
      const auto all = processes();
      return !all.empty() && std::ranges::all_of(all, [](const ProcessEntry& process) {
        return process.state == 'T' || process.state == 'D';
      });
    };
    return stands() && stands();
  }
  void pause_and_await() {
    bench_->executor().pause(kPaused);
    ProcessBench::await([&] { return stand_still(); });
    ASSERT_TRUE(stand_still());
  }
  static void expect_gone(const std::vector<ProcessEntry>& all) {
    for (const ProcessEntry& process : all) {
      EXPECT_FALSE(gpu::is_alive({process.pid, process.start_ticks}));
    }
  }
  std::optional<RunExit> end() { return bench_->end_of(kPaused); }

  std::vector<std::string> names_ = {"leader", "child", "daemon", "orphan"};
  std::optional<ScratchCgroup> scratch_;
  std::optional<ProcessBench> bench_;
};

INSTANTIATE_TEST_SUITE_P(Cgroups, JobPauseTest, testing::Values(false, true), [](const auto& test) {
  return test.param ? "With" : "Without";
});

TEST_P(JobPauseTest, EveryProcessStandsStillAndGoesOn) {
  start_many_processes();
  for (int round = 0; round < 3; ++round) {
    pause_and_await();
    bench_->executor().pause(kPaused);
    std::vector<std::size_t> sizes;
    sizes.reserve(names_.size());
    for (const std::string& name : names_) {
      sizes.push_back(size_of(name));
    }
    pause_for(std::chrono::milliseconds(30));  // in which each would write
    for (std::size_t i = 0; i < names_.size(); ++i) {
      EXPECT_EQ(size_of(names_[i]), sizes[i]) << names_[i];
    }
    bench_->executor().resume(kPaused);
    for (const std::string& name : names_) {
      await_growth(name);
    }
  }
  bench_->executor().stop(kPaused, StopMode::Kill);
  ASSERT_TRUE(end());
}

TEST_P(JobPauseTest, TheSupervisorIsNotStopped) {
  start_many_processes();
  pause_and_await();
  const auto claim = bench_->folder(kPaused).claimed();
  ASSERT_TRUE(claim && *claim);
  const auto stat = gpu::parse_process_stat(
      read_proc_file(fmt::format("/proc/{}/stat", (*claim)->supervisor.pid)));
  ASSERT_TRUE(stat);
  EXPECT_NE(stat->state, 'T');
  if (const auto cgroup = recorded_cgroup(bench_->folder(kPaused))) {
    EXPECT_NE(cgroup_of((*claim)->supervisor.pid), *cgroup);
  }
}

TEST_P(JobPauseTest, AJobIsAskedToStopAndHearsItAlthoughItIsPaused) {
  start("trap 'echo heard > heard; exit 3' TERM; touch ready; while :; do sleep 0.01; done");
  ProcessBench::await_file(bench_->root() / "ready");
  pause_and_await();
  bench_->executor().stop(kPaused, StopMode::Ask);
  bench_->executor().pause(kPaused);  // too late
  const auto exit = end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Cancelled);
  EXPECT_TRUE(std::filesystem::exists(bench_->root() / "heard"));
}

TEST_P(JobPauseTest, APausedJobIsKilled) {
  start_many_processes();
  pause_and_await();
  const std::vector<ProcessEntry> all = processes();
  bench_->executor().stop(kPaused, StopMode::Kill);
  const auto exit = end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Cancelled);
  expect_gone(all);
}

TEST_P(JobPauseTest, APausedJobEndsWithItsKilledSupervisor) {
  start_many_processes();
  pause_and_await();
  const std::vector<ProcessEntry> all = processes();
  const auto claim = bench_->folder(kPaused).claimed();
  ASSERT_TRUE(claim && *claim);
  ::kill((*claim)->supervisor.pid, SIGKILL);
  const auto exit = end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Lost);
  expect_gone(all);
}

TEST_P(JobPauseTest, APauseThatComesBeforeTheJobBeginsHoldsIt) {
  ASSERT_TRUE(bench_->folder(kPaused).make());
  ASSERT_TRUE(request_pause(bench_->folder(kPaused), bench_->settings().journal));
  start("while [ ! -e go ]; do sleep 0.01; done");
  ProcessBench::await([&] { return stand_still(); });
  EXPECT_TRUE(stand_still());
  ASSERT_TRUE(write_file(bench_->root() / "go", ""));
  EXPECT_FALSE(bench_->end_of(kPaused, ProcessBench::kShortWhileMs));
  bench_->executor().resume(kPaused);
  const auto exit = end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Succeeded);
}

TEST_P(JobPauseTest, AServerThatEndsInOrderResumesWhatItPaused) {
  start_many_processes();
  pause_and_await();
  bench_->executor().resume_all();
  await_growth("daemon");
}

TEST_P(JobPauseTest, APauseSurvivesTheServerIfTheNextOneAsksAgain) {
  start_many_processes();
  pause_and_await();
  bench_->restart();
  const auto found = bench_->executor().find(bench_->spec({}, kPaused));
  ASSERT_TRUE(found);
  EXPECT_TRUE(stand_still());
  bench_->executor().pause(kPaused);
  const std::size_t size = size_of("leader");
  const Stopwatch watch;
  while (watch.seconds() < 1.5) {  // longer than an inherited pause
    EXPECT_TRUE(bench_->executor().take_reports().empty());
    pause_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(size_of("leader"), size);
  bench_->executor().resume(kPaused);
  await_growth("leader");
}

TEST_P(JobPauseTest, APauseThatTheNextServerDoesNotAskForEnds) {
  start_many_processes();
  pause_and_await();
  bench_->restart();
  ASSERT_TRUE(bench_->executor().find(bench_->spec({}, kPaused)));
  const std::size_t size = size_of("daemon");
  ProcessBench::await([&] {
    static_cast<void>(bench_->executor().take_reports());
    return size_of("daemon") > size;
  });
  EXPECT_GT(size_of("daemon"), size);
}

TEST_P(JobPauseTest, ResumeAndAskEndAPauseOfTheCgroupThatNobodyAskedFor) {
  if (!GetParam()) {
    GTEST_SKIP() << "for cgroups";
  }
  start_many_processes();
  const auto cgroup = recorded_cgroup(bench_->folder(kPaused));
  ASSERT_TRUE(cgroup);
  ASSERT_TRUE(freeze_cgroup(*cgroup, std::chrono::seconds(20)));
  bench_->executor().resume(kPaused);
  await_growth("leader");
  ASSERT_TRUE(freeze_cgroup(*cgroup, std::chrono::seconds(20)));
  bench_->executor().stop(kPaused, StopMode::Ask);
  ASSERT_TRUE(end());
}

TEST_P(JobPauseTest, AProcessThatTheJobStoppedItselfStaysStopped) {
  start(
      "sh -c 'kill -STOP $$; echo on > continued' & echo $! > stopped; "
      "while [ ! -e go ]; do sleep 0.01; done; kill -CONT $(cat stopped); wait");
  std::optional<pid_t> own;
  ProcessBench::await([&] {
    const std::string text = read_file(bench_->root() / "stopped").value_or("");
    if (text.ends_with("\n")) {
      own = std::stoi(text);
    }
    const auto stat =
        own ? gpu::parse_process_stat(read_proc_file(fmt::format("/proc/{}/stat", *own)))
            : std::nullopt;
    return stat && stat->state == 'T';
  });
  ASSERT_TRUE(own);
  pause_and_await();
  bench_->executor().resume(kPaused);
  pause_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(std::filesystem::exists(bench_->root() / "continued"));
  ASSERT_TRUE(write_file(bench_->root() / "go", ""));
  const auto exit = end();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Succeeded);
  EXPECT_TRUE(std::filesystem::exists(bench_->root() / "continued"));
}

// Each number follows the one before it, in each of several processes that fork all the time.
TEST_P(JobPauseTest, PausesAtRandomMomentsBreakNoJob) {
  constexpr int kJobs = 4;
  const int pauses = thorough_tests() ? 50 : 10;  // of each job
  constexpr const char* kCounter =
      "count() { i=0; while [ ! -e go ]; do i=$((i+1)); echo $i | cat >> $1.$CARPOOL_JOB_ID; done; "
      "echo end >> $1.$CARPOOL_JOB_ID; }; count a & count b & wait; exit 0";
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same moments each time
  std::uniform_int_distribution<int> moment_ms(0, 12);
  for (JobId job = 1; job <= kJobs; ++job) {
    start(kCounter, {job, 1});
    for (int pause = 0; pause < pauses; ++pause) {  // from its start on
      bench_->executor().pause({job, 1});
      pause_for(std::chrono::milliseconds(moment_ms(random)));
      bench_->executor().resume({job, 1});
      pause_for(std::chrono::milliseconds(moment_ms(random)));
    }
  }
  ASSERT_TRUE(write_file(bench_->root() / "go", ""));
  std::vector<RunExit> ends;
  ProcessBench::await([&] {
    for (const RunReport& report : bench_->executor().take_reports()) {
      if (report.kind == RunReport::Kind::Ended) {
        ends.push_back(report.exit);
      }
    }
    return ends.size() == kJobs;
  });
  ASSERT_EQ(ends.size(), static_cast<std::size_t>(kJobs));
  for (const RunExit& exit : ends) {
    EXPECT_EQ(exit.end, RunEnd::Succeeded) << exit.detail;
  }
  for (JobId job = 1; job <= kJobs; ++job) {
    for (const char* name : {"a", "b"}) {
      std::ifstream file(bench_->root() / fmt::format("{}.{}", name, job));
      std::string line;
      for (int expected = 1; std::getline(file, line) && line != "end"; ++expected) {
        ASSERT_EQ(line, std::to_string(expected)) << name << " of job " << job;
      }
      EXPECT_EQ(line, "end");
    }
  }
}

}  // namespace
}  // namespace carpool::run
