// The MPS daemon that jobs share, its keeper and its locks, with a fake control program.
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/files/proc_file.hpp"
#include "base/process/descriptor.hpp"
#include "gpu/mps/mps_control.hpp"
#include "gpu/mps/mps_folder.hpp"
#include "run/tests/process_bench.hpp"

namespace carpool::run {
namespace {

class MpsKeeper : public testing::Test {
 protected:
  void SetUp() override { ::setenv("CARPOOL_MPS_CONTROL", CARPOOL_FAKE_MPS_CONTROL, 1); }

  // A client of the daemon that runs until the file "go" exists, and fails.
  void start_job(JobId job) {
    LaunchSpec launch =
        bench_.spec({"sh",
                     "-c",
                     "touch $CUDA_MPS_PIPE_DIRECTORY/client.$$; touch ready.$CARPOOL_JOB_ID; "
                     "while [ ! -e go ]; do sleep 0.01; done; exit 1"},
                    {job, 1});
    launch.mechanism = ShareMechanism::Mps;
    const auto launched = bench_.executor().launch(launch);
    ASSERT_TRUE(launched) << launched.error().detail;
    ProcessBench::await_file(root_ / ("ready." + std::to_string(job)));
  }
  void let_go() const { std::ofstream(root_ / "go").put('x'); }

  [[nodiscard]] gpu::MpsFolder folder() const {
    return *gpu::MpsFolder::at(root_ / "mps" / ("0-" + std::to_string(::geteuid())));
  }
  [[nodiscard]] std::filesystem::path users_file() const {
    return root_ / "mps" / "locks" / ("0-" + std::to_string(::geteuid()) + ".users");
  }
  [[nodiscard]] gpu::ProcessIdentity keeper() const {
    const auto owner = folder().owner();
    return owner ? owner->value_or(gpu::ProcessIdentity{}) : gpu::ProcessIdentity{};
  }
  [[nodiscard]] gpu::ProcessIdentity daemon() const {
    const auto pid = folder().daemon_pid();
    return pid ? gpu::identify(*pid).value_or(gpu::ProcessIdentity{}) : gpu::ProcessIdentity{};
  }
  static void kill_and_await(const gpu::ProcessIdentity& process) {
    ASSERT_GT(process.pid, 1);
    ::kill(process.pid, SIGKILL);
    ProcessBench::await([&] { return !gpu::is_alive(process); });
  }
  static void expect_gone(const gpu::ProcessIdentity& process) {
    ProcessBench::await([&] { return !gpu::is_alive(process); });
    EXPECT_FALSE(gpu::is_alive(process));
  }

  ProcessBench bench_;
  const std::filesystem::path& root_ = bench_.root();
};

TEST_F(MpsKeeper, ADaemonThatDiesUnderAJobIsItsFaultAndTheNextJobHasAnother) {
  start_job(1);
  kill_and_await(daemon());
  let_go();
  const auto exit = bench_.end_of({1, 1});
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::MpsFault) << exit->detail;
  LaunchSpec next = bench_.short_job({2, 1});
  next.mechanism = ShareMechanism::Mps;
  ASSERT_TRUE(bench_.executor().launch(next));
  EXPECT_EQ(bench_.end_of({2, 1})->end, RunEnd::Succeeded);
}

TEST_F(MpsKeeper, AServerThatDiesUnderAJobIsTheFaultOfMps) {
  start_job(1);
  const auto servers = gpu::MpsControl(CARPOOL_FAKE_MPS_CONTROL, folder()).servers();
  ASSERT_TRUE(servers && servers->size() == 1U);
  ::kill(servers->front().pid, SIGKILL);
  let_go();
  const auto exit = bench_.end_of({1, 1});
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::MpsFault) << exit->detail;
}

TEST_F(MpsKeeper, AJobThatFailsBesideAHealthyDaemonHasFailedItself) {
  start_job(1);
  let_go();
  const auto exit = bench_.end_of({1, 1});
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->end, RunEnd::Failed) << exit->detail;
}

TEST_F(MpsKeeper, ADaemonWithoutAKeeperEndsWithItsLastJob) {
  start_job(1);
  const gpu::ProcessIdentity left = daemon();
  kill_and_await(keeper());
  let_go();
  ASSERT_TRUE(bench_.end_of({1, 1}));
  expect_gone(left);
}

TEST_F(MpsKeeper, ADaemonWithoutAKeeperIsTakenOverByTheNextJob) {
  start_job(1);
  const gpu::ProcessIdentity left = daemon();
  const gpu::ProcessIdentity dead = keeper();
  kill_and_await(dead);
  start_job(2);
  EXPECT_EQ(daemon(), left) << "the first job still uses it";
  EXPECT_NE(keeper(), dead);
  EXPECT_TRUE(gpu::is_alive(keeper()));
  let_go();
  ASSERT_TRUE(bench_.end_of({1, 1}));
  expect_gone(left);
}

TEST_F(MpsKeeper, ADaemonThatNobodyKeepsOrUsesIsSweptWhenAServerStarts) {
  start_job(1);
  const gpu::ProcessIdentity left = daemon();
  bench_.restart();
  pause_for(std::chrono::milliseconds(200));
  EXPECT_TRUE(gpu::is_alive(left)) << "it has a user";
  const auto claim = bench_.folder({1, 1}).claimed();
  ASSERT_TRUE(claim && *claim);
  kill_and_await(keeper());
  kill_and_await((*claim)->supervisor);
  bench_.restart();
  expect_gone(left);
}

TEST_F(MpsKeeper, NothingOfTheServersEnvironmentReachesSupervisorKeeperOrDaemon) {
  ::setenv("CARPOOL_TEST_SECRET", "of-the-server", 1);
  start_job(1);
  ::unsetenv("CARPOOL_TEST_SECRET");
  const auto claim = bench_.folder({1, 1}).claimed();
  ASSERT_TRUE(claim && *claim);
  for (const gpu::ProcessIdentity& process : {(*claim)->supervisor, keeper(), daemon()}) {
    const std::filesystem::path proc = "/proc/" + std::to_string(process.pid);
    const std::string variables = read_proc_file(proc / "environ");
    EXPECT_NE(variables.find("PATH="), std::string::npos);
    EXPECT_EQ(variables.find("CARPOOL_TEST_SECRET"), std::string::npos) << process.pid;
    EXPECT_EQ(std::filesystem::read_symlink(proc / "cwd"), "/");
  }
  EXPECT_NE(read_proc_file("/proc/" + std::to_string(keeper().pid) + "/environ").find("HOME="),
            std::string::npos);
  std::vector<std::string> open;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(keeper().pid) + "/fd")) {
    open.push_back(std::filesystem::read_symlink(entry.path()).string());
  }
  std::erase(open, "/dev/null");
  EXPECT_EQ(open, std::vector<std::string>{users_file().string()});
}

TEST_F(MpsKeeper, NoOtherUserCanHoldALock) {
  start_job(1);
  struct stat status{};
  ASSERT_EQ(::stat(users_file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(users_file().parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_EQ(status.st_uid, ::geteuid());
}

// A root server with a job of another user.
class MpsOfAnotherUser : public MpsKeeper {
 protected:
  static constexpr uid_t kNobody = 65534;

  void SetUp() override {
    MpsKeeper::SetUp();
    if (::geteuid() != 0) {
      GTEST_SKIP() << "only root starts jobs of other users";
    }
    std::filesystem::permissions(root_, std::filesystem::perms{0711});
    if (as_nobody([] { return ::access(CARPOOL_FAKE_MPS_CONTROL, X_OK) == 0; }) != 0) {
      GTEST_SKIP() << "other users cannot reach the build folder";
    }
    LaunchSpec launch = bench_.spec({"sleep", "600"}, {1, 1});
    launch.owner.uid = kNobody;
    launch.mechanism = ShareMechanism::Mps;
    ASSERT_TRUE(bench_.executor().launch(launch));
    ProcessBench::await_file(bench_.folder({1, 1}).path() / "leader");
  }

  // 0: the condition holds for that user.
  static int as_nobody(const std::function<bool()>& condition) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const bool became = ::setresgid(kNobody, kNobody, kNobody) == 0 &&
                          ::setresuid(kNobody, kNobody, kNobody) == 0;
      ::_exit(!became ? 2 : condition() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
  }

  [[nodiscard]] gpu::MpsFolder place() const {
    return *gpu::MpsFolder::at(root_ / "mps" / "0-65534");
  }
};

TEST_F(MpsOfAnotherUser, KeeperAndDaemonRunAsThatUserAndItsLocksAreOutOfReach) {
  const auto owner = place().owner();
  ASSERT_TRUE(owner && *owner);
  struct stat status{};
  ASSERT_EQ(::stat(("/proc/" + std::to_string((*owner)->pid)).c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, kNobody);
  for (const char* lock : {"0-65534.users", "0-65534.users.start"}) {
    const std::filesystem::path file = root_ / "mps" / "locks" / lock;
    ASSERT_TRUE(std::filesystem::exists(file));
    EXPECT_EQ(as_nobody([&] { return ::open(file.c_str(), O_RDONLY) < 0; }), 0);
  }
  bench_.executor().stop({1, 1}, StopMode::Kill);
  ASSERT_TRUE(bench_.end_of({1, 1}));
  ProcessBench::await([&] { return !gpu::is_alive(**owner); });
  EXPECT_FALSE(gpu::is_alive(**owner)) << "the keeper sees that no user is left";
}

TEST_F(MpsOfAnotherUser, ADaemonThatIsLeftIsSwept) {
  const auto owner = place().owner();
  const auto pid = place().daemon_pid();
  const auto left = pid ? gpu::identify(*pid) : std::nullopt;
  const auto claim = bench_.folder({1, 1}).claimed();
  ASSERT_TRUE(owner && *owner && left && claim && *claim);
  kill_and_await(**owner);
  kill_and_await((*claim)->supervisor);
  bench_.restart();
  expect_gone(*left);
}

TEST_F(MpsKeeper, AStartThatWaitsForALockHearsThatItIsStopped) {
  const Descriptor held(::open(users_file().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  LaunchSpec launch = bench_.short_job({1, 1});
  launch.mechanism = ShareMechanism::Mps;
  ASSERT_TRUE(bench_.executor().launch(launch));
  ProcessBench::await_file(bench_.folder({1, 1}).path() / "claim");
  bench_.executor().stop({1, 1}, StopMode::Ask);
  const auto exit = bench_.end_of({1, 1});
  ASSERT_TRUE(exit) << "the start cannot be stopped";
  EXPECT_EQ(exit->end, RunEnd::Cancelled);
}

}  // namespace
}  // namespace carpool::run
