#include "run/attempt_kill.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "base/process/cgroup.hpp"
#include "base/process/process_table.hpp"
#include "run/job_cgroup.hpp"
#include "run/run_ending.hpp"
#include "run/tests/process_bench.hpp"
#include "run/tests/scratch_cgroup.hpp"

namespace carpool::run {
namespace {

constexpr RunId kRun{1, 1};

// With and without cgroups.
class AttemptKill : public testing::TestWithParam<bool> {
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

  void start(std::vector<std::string> argv) {
    ASSERT_TRUE(bench_->executor().launch(bench_->spec(std::move(argv), kRun)));
    ASSERT_TRUE(await(RunReport::Kind::Running));
  }
  // Starts a job that writes the PID of a process into the file "escaped" when all is in place.
  pid_t start_with_escape(const std::string& escape) {
    start({"sh", "-c", fmt::format("{} & while :; do sleep 1; done", escape)});
    const std::filesystem::path file = bench_->root() / "escaped";
    ProcessBench::await([&] { return read_file(file).value_or("").ends_with("\n"); });
    return std::stoi(read_file(file).value_or("0"));
  }
  std::optional<RunExit> await(RunReport::Kind kind) {
    std::optional<RunExit> found;
    ProcessBench::await([&] {
      for (const RunReport& report : bench_->executor().take_reports()) {
        if (report.kind == kind) {
          found = report.exit;
        }
      }
      return found.has_value();
    });
    return found;
  }
  [[nodiscard]] gpu::ProcessIdentity supervisor() const {
    const auto claim = bench_->folder(kRun).claimed();
    return claim && *claim ? (*claim)->supervisor : gpu::ProcessIdentity{};
  }

  std::optional<ScratchCgroup> scratch_;
  std::optional<ProcessBench> bench_;
};

INSTANTIATE_TEST_SUITE_P(Cgroups, AttemptKill, testing::Values(false, true), [](const auto& test) {
  return test.param ? "With" : "Without";
});

constexpr const char* kDaemon =
    "(env -i setsid sh -c 'echo $$ > escaped; exec sleep 600' > /dev/null 2>&1 < /dev/null &)";

TEST_P(AttemptKill, ADaemonWithAnEmptyEnvironmentDiesWithAKilledSupervisor) {
  const pid_t escaped = start_with_escape(kDaemon);
  const auto identity = gpu::identify(escaped);
  ASSERT_TRUE(identity);
  ::kill(supervisor().pid, SIGKILL);
  const auto exit = await(RunReport::Kind::Ended);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Lost);
  EXPECT_FALSE(gpu::is_alive(*identity)) << "two attempts may run at once";
}

TEST_P(AttemptKill, ADaemonWithAnEmptyEnvironmentDiesWithItsJob) {
  const pid_t escaped = start_with_escape(kDaemon);
  const auto identity = gpu::identify(escaped);
  ASSERT_TRUE(identity);
  bench_->executor().stop(kRun, StopMode::Kill);
  ASSERT_TRUE(await(RunReport::Kind::Ended));
  EXPECT_FALSE(gpu::is_alive(*identity));
}

TEST_P(AttemptKill, ProcessesThatWriteToTheOutputAreFoundWithoutSupervisorAndReaper) {
  const pid_t escaped =
      start_with_escape("(env -i setsid sh -c 'echo $$ > escaped; exec sleep 600' &)");
  const auto identity = gpu::identify(escaped);
  ASSERT_TRUE(identity);
  for (const ProcessEntry& process : list_processes()) {
    const pid_t reaper = process.pid == supervisor().pid ? process.parent : 0;
    if (!GetParam() && reaper > 1) {
      ::kill(reaper, SIGKILL);
    }
  }
  ::kill(supervisor().pid, SIGKILL);
  ASSERT_TRUE(await(RunReport::Kind::Ended));
  EXPECT_FALSE(gpu::is_alive(*identity));
}

TEST_P(AttemptKill, AStoppedSupervisorDoesNotDefeatKilling) {
  start({"sleep", "600"});
  ::kill(supervisor().pid, SIGSTOP);
  bench_->executor().stop(kRun, StopMode::Kill);
  const auto exit = await(RunReport::Kind::Ended);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Cancelled);
}

TEST_P(AttemptKill, ASupervisorThatDoesNotActIsHelped) {
  start({"sh", "-c", "trap '' TERM; touch ready; sleep 600 & sleep 600"});
  ProcessBench::await_file(bench_->root() / "ready");
  const auto leader = bench_->folder(kRun).leader();
  ASSERT_TRUE(leader && *leader);
  const gpu::ProcessIdentity stopped = supervisor();
  ::kill(stopped.pid, SIGSTOP);
  KillWatch watch(0.0);
  watch.look(bench_->folder(kRun));
  EXPECT_TRUE(gpu::is_alive(**leader)) << "killing was not requested yet";
  watch.begin();
  watch.look(bench_->folder(kRun));
  ProcessBench::await([&] { return !gpu::is_alive(**leader); });
  EXPECT_FALSE(gpu::is_alive(**leader));
  ASSERT_TRUE(await(RunReport::Kind::Ended));
  EXPECT_FALSE(gpu::is_alive(stopped));
}

TEST_P(AttemptKill, ASupervisorThatIsStoppedAgainIsKilled) {
  start({"sleep", "600"});
  const gpu::ProcessIdentity stopped = supervisor();
  KillWatch watch(0.0);
  watch.begin();
  // The help continues it; it is stopped again before it can do much.
  for (int help = 0; help < 2 && gpu::is_alive(stopped); ++help) {
    ::kill(stopped.pid, SIGSTOP);
    watch.look(bench_->folder(kRun));
  }
  const auto exit = await(RunReport::Kind::Ended);
  ASSERT_TRUE(exit);
  EXPECT_FALSE(gpu::is_alive(stopped));
}

TEST_P(AttemptKill, AnMpsDaemonOutlivesTheJobThatStartedIt) {
  ::setenv("CARPOOL_MPS_CONTROL", CARPOOL_FAKE_MPS_CONTROL, 1);
  LaunchSpec first = bench_->spec({"sleep", "600"}, kRun);
  LaunchSpec second = bench_->spec({"sh", "-c", "while [ ! -e go ]; do sleep 0.01; done"}, {2, 1});
  for (LaunchSpec* launch : {&first, &second}) {
    launch->mechanism = ShareMechanism::Mps;
    ASSERT_TRUE(bench_->executor().launch(*launch));
    ASSERT_TRUE(await(RunReport::Kind::Running));
  }
  const std::filesystem::path pipe =
      bench_->root() / "mps" / fmt::format("0-{}", ::geteuid()) / "pipe";
  ASSERT_TRUE(std::filesystem::exists(pipe));
  ::kill(supervisor().pid, SIGKILL);
  ASSERT_TRUE(await(RunReport::Kind::Ended));
  EXPECT_TRUE(std::filesystem::exists(pipe)) << "the daemon of the second job was killed";
  ASSERT_TRUE(write_file(bench_->root() / "go", ""));
  const auto exit = await(RunReport::Kind::Ended);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Succeeded);
  ProcessBench::await([&] { return !std::filesystem::exists(pipe); });
}

TEST_P(AttemptKill, ACgroupIsRemovedWithItsAttempt) {
  start({"sh", "-c", "cat /proc/self/cgroup > cgroup; touch ready; sleep 600"});
  ProcessBench::await_file(bench_->root() / "ready");
  const auto cgroup = recorded_cgroup(bench_->folder(kRun));
  EXPECT_EQ(cgroup.has_value(), GetParam());
  if (cgroup) {
    EXPECT_EQ(cgroup->parent_path(), scratch_->jobs());
    EXPECT_TRUE(is_populated(*cgroup));
    EXPECT_EQ(cgroup_of(supervisor().pid), scratch_->jobs().parent_path() / "supervisors");
    EXPECT_NE(read_file(bench_->root() / "cgroup").value_or("").find(cgroup->filename().string()),
              std::string::npos);
  }
  bench_->executor().stop(kRun, StopMode::Ask);
  ASSERT_TRUE(await(RunReport::Kind::Ended));
  EXPECT_FALSE(cgroup && std::filesystem::exists(*cgroup));
}

TEST_P(AttemptKill, AJobThatCannotStartLeavesNoCgroup) {
  ASSERT_TRUE(bench_->executor().launch(bench_->spec({"/no/such/program"}, kRun)));
  const auto exit = await(RunReport::Kind::Ended);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::NeverStarted);
  const auto cgroup = recorded_cgroup(bench_->folder(kRun));
  EXPECT_EQ(cgroup.has_value(), GetParam());
  EXPECT_FALSE(cgroup && std::filesystem::exists(*cgroup));
}

TEST(EndLeftovers, AProcessWithAReusedPidSurvives) {
  const ProcessBench bench;
  const RunFolder folder = bench.folder(kRun);
  ASSERT_TRUE(folder.make());
  const pid_t innocent = ::fork();
  if (innocent == 0) {
    ::setsid();
    if (::fork() == 0) {
      ::pause();  // of the same session
    }
    ::pause();
    ::_exit(0);
  }
  std::optional<gpu::ProcessIdentity> identity;
  ProcessBench::await([&] {
    identity = gpu::identify(innocent);
    return identity && ::getsid(innocent) == innocent;
  });
  ASSERT_TRUE(identity);
  const gpu::ProcessIdentity earlier{innocent, identity->start_ticks - 1};
  ASSERT_TRUE(folder.claim({.supervisor = earlier, .boot = "boot"}));
  ASSERT_TRUE(folder.write_leader(earlier, ""));
  const auto exit = conclude({.folder = folder, .journal = "", .same_boot = true}, epoch_seconds);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Lost);
  EXPECT_TRUE(gpu::is_alive(*identity));
  // The same record with the right start time is the job's.
  ASSERT_TRUE(folder.write_leader(*identity, ""));
  EXPECT_TRUE(end_leftovers(folder));
  EXPECT_FALSE(gpu::is_alive(*identity));
  ::waitpid(innocent, nullptr, 0);
}

TEST(EndLeftovers, ADamagedRecordNamesNoOtherCgroup) {
  const ProcessBench bench;
  const RunFolder folder = bench.folder(kRun);
  ASSERT_TRUE(folder.make());
  for (const char* text : {"",
                           "/sys/fs/cgroup",
                           "/sys/fs/cgroup/user.slice",
                           "/sys/fs/cgroup/jobs/abc-1.2",
                           "/sys/fs/cgroup/jobs/../x/jobs/abc-1.1",
                           "jobs/abc-1.1",
                           "/sys/fs/cgroup/x/abc-1.1"}) {
    ASSERT_TRUE(write_file(folder.path() / "cgroup", text));
    EXPECT_FALSE(recorded_cgroup(folder)) << text;
  }
  ASSERT_TRUE(write_file(folder.path() / "cgroup", "/sys/fs/cgroup/jobs/abc-1.1"));
  EXPECT_TRUE(recorded_cgroup(folder));
}

TEST(EndLeftovers, AProcessOfAnotherUserThatWasHandedTheOutputSurvives) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() != 0) {
    GTEST_SKIP() << "other users need root";
  }
  const ProcessBench bench;
  const RunFolder folder = bench.folder(kRun);
  ASSERT_TRUE(folder.make());
  ASSERT_TRUE(write_file(folder.stdout_file(), ""));
  ASSERT_EQ(::chown(folder.stdout_file().c_str(), kNobody, kNobody), 0);
  std::vector<gpu::ProcessIdentity> holders;
  for (const bool other : {true, false}) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const int held = ::open(folder.stdout_file().c_str(), O_WRONLY | O_APPEND);
      if (held < 0 || (!other && ::setresuid(kNobody, kNobody, kNobody) != 0)) {
        ::_exit(1);
      }
      ::pause();
      ::_exit(0);
    }
    ProcessBench::await([&] {
      return writes_to(pid, {std::filesystem::canonical(folder.stdout_file())}) &&
             process_user(pid) == (other ? 0 : kNobody);
    });
    holders.push_back(gpu::identify(pid).value_or(gpu::ProcessIdentity{}));
  }
  EXPECT_TRUE(end_leftovers(folder));
  EXPECT_TRUE(gpu::is_alive(holders[0]));
  EXPECT_FALSE(gpu::is_alive(holders[1]));
  ::kill(holders[0].pid, SIGKILL);
  for (const gpu::ProcessIdentity& holder : holders) {
    ::waitpid(holder.pid, nullptr, 0);
  }
}

}  // namespace
}  // namespace carpool::run
