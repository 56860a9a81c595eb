#include "app/server/gpu_lock.hpp"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "app/cli/exit_code.hpp"

namespace carpool::app {
namespace {

class GpuLockTest : public testing::Test {
 public:
  GpuLockTest() { std::filesystem::create_directories(root_); }
  ~GpuLockTest() override { std::filesystem::remove_all(root_); }

 protected:
  [[nodiscard]] Result<GpuLocks> take(const std::vector<std::string>& names, bool system) const {
    std::vector<GpuView> gpus;
    gpus.reserve(names.size());
    for (const std::string& name : names) {
      gpus.push_back({.index = static_cast<unsigned>(gpus.size()), .uuid = uuid(name)});
    }
    return GpuLocks::take(gpus, {.system = system, .socket = "/run/s", .claims = claims()});
  }
  [[nodiscard]] std::optional<GpuHolder> holder(const std::string& name) const {
    return gpu_holder(uuid(name), claims());
  }
  // Names are common to the machine: tests that run at once must not meet.
  [[nodiscard]] std::string uuid(const std::string& name) const {
    return fmt::format("GPU-test-{}-{}", process_, name);
  }
  [[nodiscard]] std::filesystem::path claims() const { return root_ / "gpus"; }

  pid_t process_ = ::getpid();  // a child keeps it
  std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) / fmt::format("gpu-lock-{}", ::getpid());
};

TEST_F(GpuLockTest, OneServerPerGpuAndTheSecondNamesTheFirst) {
  for (const bool system : {false, true}) {
    Result<GpuLocks> first = take({"a", "b"}, system);
    ASSERT_TRUE(first) << first.error().message;
    const Result<GpuLocks> other = take({"c"}, system);
    EXPECT_TRUE(other) << "another GPU is free";
    const Result<GpuLocks> second = take({"d", "b"}, system);
    ASSERT_FALSE(second);
    EXPECT_EQ(exit_code(second.error().code), kExitUsage);
    EXPECT_EQ(second.error().code, ErrorCode::Conflict);
    const std::string text = second.error().message;
    EXPECT_TRUE(text.starts_with(fmt::format("GPU 1 ({}) is managed by the server of ", uuid("b"))))
        << text;
    EXPECT_NE(text.find(fmt::format("process {}", ::getpid())), std::string::npos) << text;
    EXPECT_NE(text.find("Submit jobs there"), std::string::npos) << text;
    EXPECT_FALSE(holder("d")) << "a refused server holds nothing";
    EXPECT_EQ(holder("a")->pid, ::getpid());
    EXPECT_EQ(holder("a")->uid, system ? 0 : ::getuid());
    EXPECT_TRUE(first->keep());
    *first = GpuLocks();
    EXPECT_FALSE(holder("a"));
    EXPECT_TRUE(take({"a", "b"}, system));
  }
}

TEST_F(GpuLockTest, ThePersonalServerYieldsToThatOfTheMachine) {
  const Result<GpuLocks> personal = take({"a"}, /*system=*/false);
  ASSERT_TRUE(personal);
  EXPECT_TRUE(personal->keep());
  const Result<GpuLocks> system = take({"a"}, /*system=*/true);
  ASSERT_TRUE(system) << "a user cannot keep the server of the machine from starting";
  EXPECT_TRUE(system->keep());
  const Result<void> kept = personal->keep();
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, ErrorCode::Conflict);
  EXPECT_EQ(kept.error().message,
            fmt::format("GPU 0 ({}) is managed by the server of this machine (process {}, socket "
                        "/run/s). Submit jobs there: carpool submit --socket /run/s -- COMMAND",
                        uuid("a"),
                        ::getpid()));
  EXPECT_FALSE(take({"a"}, /*system=*/false));
}

TEST_F(GpuLockTest, AKilledServerHoldsNothingAndItsChildrenInheritNothing) {
  for (const bool system : {false, true}) {
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
    const pid_t server = ::fork();
    if (server == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const Result<GpuLocks> locks = take({"a"}, system);
      const pid_t job = ::fork();
      if (job == 0) {
        ::prctl(PR_SET_PDEATHSIG, 0);
        ::close(STDOUT_FILENO);
        ::close(STDERR_FILENO);
        ::execlp("sleep", "sleep", "60", nullptr);
        ::_exit(127);
      }
      const pid_t told = locks ? job : -1;
      (void)!::write(ready[1], &told, sizeof told);
      ::pause();
    }
    pid_t job = 0;
    ASSERT_EQ(::read(ready[0], &job, sizeof job), static_cast<ssize_t>(sizeof job));
    ::close(ready[0]);
    ::close(ready[1]);
    ASSERT_GT(job, 0);
    const auto found = holder("a");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->pid, server);
    // The lock of a server that dies at this moment is waited for.
    ::kill(server, SIGKILL);
    EXPECT_TRUE(take({"a"}, system));
    EXPECT_EQ(::waitpid(server, nullptr, 0), server);
    EXPECT_FALSE(holder("a"));
    ::kill(job, SIGKILL);
  }
}

TEST_F(GpuLockTest, ManyWhoLookDoNotHideTheHolder) {
  const Result<GpuLocks> locks = take({"a"}, /*system=*/false);
  ASSERT_TRUE(locks);
  for (int round = 0; round < 3; ++round) {
    for (int look = 0; look < 500; ++look) {
      ASSERT_EQ(holder("a")->pid, ::getpid());
    }
    ASSERT_TRUE(locks->keep());
  }
}

TEST_F(GpuLockTest, AClaimHoldsOnlyForTheProcessThatWroteIt) {
  Result<GpuLocks> locks = take({"a"}, /*system=*/true);
  ASSERT_TRUE(locks);
  const std::filesystem::path file = claims() / uuid("a");
  struct stat status{};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0644U);
  ASSERT_EQ(::stat((claims() / "lock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  std::string text;
  std::getline(std::ifstream(file), text);
  const auto at = text.find("\"began\":\"");
  ASSERT_NE(at, std::string::npos) << text;
  std::ofstream(file) << text.insert(at + 9, "1");
  EXPECT_FALSE(holder("a")) << "another process with the number of the first";
  for (const char* broken : {"", "{", "[]", "{\"pid\": \"x\"}", "{\"pid\": 1}"}) {
    std::ofstream(file) << broken;
    EXPECT_FALSE(holder("a")) << broken;
  }
}

TEST_F(GpuLockTest, AFolderThatOthersCanWriteIsRefused) {
  std::filesystem::create_directories(claims());
  std::filesystem::permissions(claims(), std::filesystem::perms::all);
  const Result<GpuLocks> locks = take({"a"}, /*system=*/true);
  ASSERT_FALSE(locks);
  EXPECT_NE(locks.error().message.find("only root can write"), std::string::npos);
}

}  // namespace
}  // namespace carpool::app
