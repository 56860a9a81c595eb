#include "base/process/child_process.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "base/process/descriptor.hpp"
#include "base/process/spawn.hpp"
#include "base/tests/temporary_folder.hpp"

namespace carpool {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{20'000};

class ChildProcessTest : public testing::Test {
 protected:
  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();

  static Command shell(const std::string& script) {
    Command command;
    command.argv = {"sh", "-c", script};
    return command;
  }

  // What a file holds as soon as it holds a whole line: how a child tells that it got somewhere.
  static std::string first_line(const std::filesystem::path& file) {
    const Stopwatch watch;
    while (watch.seconds() < 20.0) {
      const Result<std::string> content = read_file(file);
      if (content && content->ends_with('\n')) {
        return content->substr(0, content->find('\n'));
      }
      pause_for(milliseconds(2));
    }
    return {};
  }

  // A process that has ended, or a zombie that its parent does not reap.
  static bool ends(pid_t pid) {
    const Stopwatch watch;
    const std::filesystem::path stat = "/proc/" + std::to_string(pid) + "/stat";
    while (watch.seconds() < 20.0) {
      std::string line(256, '\0');
      const Descriptor file(::open(stat.c_str(), O_RDONLY | O_CLOEXEC));
      const ssize_t got = file.valid() ? ::read(file.get(), line.data(), line.size()) : 0;
      line.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
      if (line.empty() || line.find(") Z") != std::string::npos) {
        return true;
      }
      pause_for(milliseconds(2));
    }
    return false;
  }
};

TEST_F(ChildProcessTest, OutputAndExitStatusAreTheChilds) {
  auto child = ChildProcess::start(shell("echo out; echo err >&2; exit 3"),
                                   {folder_ / "out", folder_ / "err"});
  ASSERT_TRUE(child.has_value()) << child.error().message;
  const auto status = child->wait_for(kLong);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 3);
  EXPECT_FALSE(status->ok());
  EXPECT_EQ(status->text(), "exit status 3");
  EXPECT_EQ(read_file(folder_ / "out"), "out\n");
  EXPECT_EQ(read_file(folder_ / "err"), "err\n");
}

TEST_F(ChildProcessTest, BothOutputsMayNameOneFileWhichIsAppendedTo) {
  ASSERT_TRUE(write_file(folder_ / "log", "before\n").has_value());
  auto child = ChildProcess::start(shell("echo one; echo two >&2; echo three"),
                                   {folder_ / "log", folder_ / "log"});
  ASSERT_TRUE(child.has_value());
  ASSERT_TRUE(child->wait_for(kLong).has_value());
  EXPECT_EQ(read_file(folder_ / "log"), "before\none\ntwo\nthree\n");
}

TEST_F(ChildProcessTest, AMissingProgramIsNotFoundAndNamed) {
  Command command;
  command.argv = {"carpool-no-such-program"};
  const auto by_name = ChildProcess::start(command, {});
  ASSERT_FALSE(by_name.has_value());
  EXPECT_EQ(by_name.error().code, ErrorCode::NotFound);
  EXPECT_NE(by_name.error().message.find("carpool-no-such-program"), std::string::npos);
  command.argv = {(folder_ / "absent").string()};
  const auto by_path = ChildProcess::start(command, {});
  ASSERT_FALSE(by_path.has_value());
  EXPECT_EQ(by_path.error().code, ErrorCode::NotFound);
  EXPECT_NE(by_path.error().message.find("absent"), std::string::npos);
}

TEST_F(ChildProcessTest, AMissingFolderIsNotMistakenForAMissingProgram) {
  Command command = shell("true");
  command.working_folder = folder_ / "nowhere";
  const auto child = ChildProcess::start(command, {});
  ASSERT_FALSE(child.has_value());
  EXPECT_EQ(child.error().code, ErrorCode::NotFound);
  EXPECT_NE(child.error().message.find("nowhere"), std::string::npos);
}

TEST_F(ChildProcessTest, AFileWithoutPermissionToRunIsAnError) {
  ASSERT_TRUE(write_file(folder_ / "text", "#!/bin/sh\n").has_value());
  Command command;
  command.argv = {(folder_ / "text").string()};
  const auto child = ChildProcess::start(command, {});
  ASSERT_FALSE(child.has_value());
  EXPECT_EQ(child.error().code, ErrorCode::Internal);
  EXPECT_FALSE(ChildProcess::start(Command{}, {}).has_value());
}

TEST_F(ChildProcessTest, EnvironmentIsAddedReplacedAndRemoved) {
  ::setenv("CARPOOL_TEST_KEPT", "kept", 1);
  ::setenv("CARPOOL_TEST_GONE", "gone", 1);
  Command command = shell("echo $CARPOOL_TEST_KEPT $CARPOOL_TEST_NEW ${CARPOOL_TEST_GONE-none}");
  command.environment = {{"CARPOOL_TEST_NEW", "a=b"}, {"CARPOOL_TEST_GONE", ""}};
  const auto result = run_command(command, "", kLong);
  ::unsetenv("CARPOOL_TEST_KEPT");
  ::unsetenv("CARPOOL_TEST_GONE");
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->out, "kept a=b none\n");
}

TEST_F(ChildProcessTest, TheWorkingFolderIsTheOneAskedFor) {
  Command command = shell("pwd -P");
  command.working_folder = folder_;
  const auto result = run_command(command, "", kLong);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->out, std::filesystem::canonical(folder_).string() + "\n");
}

TEST_F(ChildProcessTest, ARunningChildHasNoStatusUntilItIsEnded) {
  auto child = ChildProcess::start(shell("exec sleep 100"), {});
  ASSERT_TRUE(child.has_value());
  EXPECT_FALSE(child->poll().has_value());
  EXPECT_FALSE(child->wait_for(milliseconds(20)).has_value());
  const ExitStatus status = child->end(kLong);
  EXPECT_EQ(status.signal, SIGTERM);
  EXPECT_EQ(status.text(), "killed by SIGTERM (15)");
  EXPECT_EQ(child->poll()->signal, SIGTERM);
}

TEST_F(ChildProcessTest, AChildThatIgnoresSigtermIsKilled) {
  auto child = ChildProcess::start(shell("trap '' TERM; echo $$; while :; do sleep 100; done"),
                                   {folder_ / "out", {}});
  ASSERT_TRUE(child.has_value());
  ASSERT_EQ(first_line(folder_ / "out"), std::to_string(child->pid()));
  EXPECT_EQ(child->end(milliseconds(30)).signal, SIGKILL);
}

TEST_F(ChildProcessTest, AStoppedChildIsEndedToo) {
  auto child = ChildProcess::start(shell("exec sleep 100"), {});
  ASSERT_TRUE(child.has_value());
  ::kill(child->pid(), SIGSTOP);
  EXPECT_EQ(child->end(kLong).signal, SIGTERM);
}

TEST_F(ChildProcessTest, DestructionEndsTheWholeGroup) {
  pid_t grandchild = 0;
  {
    auto child = ChildProcess::start(shell("sleep 100 & echo $!; wait"), {folder_ / "out", {}});
    ASSERT_TRUE(child.has_value());
    grandchild = std::stoi(first_line(folder_ / "out"));
    ChildProcess moved = std::move(*child);
    EXPECT_EQ(child->pid(), -1);
    EXPECT_FALSE(moved.poll().has_value());
  }
  EXPECT_TRUE(ends(grandchild));
}

TEST_F(ChildProcessTest, TheRestOfItsGroupIsEndedWithAChild) {
  auto child = ChildProcess::start(shell("sleep 100 & echo $!"), {folder_ / "out", {}});
  ASSERT_TRUE(child.has_value());
  ASSERT_TRUE(child->wait_for(kLong).has_value());
  EXPECT_TRUE(ends(std::stoi(first_line(folder_ / "out"))));
}

TEST_F(ChildProcessTest, AChildThatDiesWithItsParentDoes) {
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    Command command = shell("echo $$; exec sleep 100");
    command.dies_with_parent = true;
    auto child = ChildProcess::start(command, {folder_ / "out", {}});
    ::pause();
  }
  const pid_t child = std::stoi(first_line(folder_ / "out"));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(ends(child));
}

TEST_F(ChildProcessTest, NoDescriptorAndNoIgnoredSignalIsInherited) {
  const Descriptor leaky(::open("/dev/null", O_RDONLY));  // as a library would, without O_CLOEXEC
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  const auto result =
      run_command(shell("ls /proc/self/fd; grep SigIgn /proc/self/status"), "", kLong);
  ::signal(SIGPIPE, before);
  ASSERT_TRUE(result.has_value());
  // 3 is the folder that ls reads.
  EXPECT_EQ(result->out, "0\n1\n2\n3\nSigIgn:\t0000000000000000\n");
}

// A keeper of an MPS daemon tells its supervisor by the end of a stream that it is ready.
TEST_F(ChildProcessTest, StreamsAreLeftWhereNothingCanBeOpened) {
  std::array<int, 2> said{};
  std::array<int, 2> over{};
  ASSERT_EQ(::pipe(said.data()), 0);
  ASSERT_EQ(::pipe(over.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(over[0], STDIN_FILENO);
    ::dup2(said[1], STDOUT_FILENO);
    const int kept = ::dup2(over[0], 10);
    ::close_range(3, 9, 0);
    ::close_range(11, ~0U, 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    leave_streams();
    char byte = 0;
    ::_exit(::read(kept, &byte, 1) == 0 ? 0 : 1);
  }
  const Descriptor heard(said[0]);
  ::close(said[1]);
  ::close(over[0]);
  pollfd end{.fd = heard.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&end, 1, static_cast<int>(kLong.count())), 1);
  ::close(over[1]);
  ::waitpid(child, nullptr, 0);
}

TEST_F(ChildProcessTest, StartingManyLeavesNoDescriptorBehind) {
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(run_command(shell("true"), "x", kLong).has_value());
    EXPECT_FALSE(run_command(Command{{"carpool-no-such-program"}, {}, {}}, "x", kLong).has_value());
    auto child = ChildProcess::start(shell("true"), {});
    EXPECT_TRUE(child->wait_for(kLong).has_value());
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ChildProcessTest, InputLargerThanAnyPipeComesBack) {
  const std::string input(300'000, 'x');
  Command command;
  command.argv = {"cat"};
  const auto result = run_command(command, input, kLong);
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->out == input);
}

TEST_F(ChildProcessTest, InputThatIsNotReadDoesNoHarm) {
  const auto result = run_command(shell("exit 7"), std::string(300'000, 'x'), kLong);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->status.code, 7);
}

TEST_F(ChildProcessTest, OutputIsCutAtOneMebibyteWithoutStoppingTheChild) {
  const auto result = run_command(shell("head -c 3000000 /dev/zero; echo done >&2"), "", kLong);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->out.size(), std::size_t{1} << 20U);
  EXPECT_EQ(result->err, "done\n");
}

TEST_F(ChildProcessTest, ACommandThatDoesNotEndIsKilledWithItsGroup) {
  const auto result =
      run_command(shell("sleep 100 & echo $! >'" + (folder_ / "pid").string() + "'; wait"),
                  "",
                  milliseconds(500));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::Internal);
  EXPECT_NE(result.error().message.find("500 ms"), std::string::npos);
  EXPECT_TRUE(ends(std::stoi(first_line(folder_ / "pid"))));
}

TEST_F(ChildProcessTest, AnEndlessWriterIsKilledAtTheLimitToo) {
  EXPECT_FALSE(run_command(shell("exec cat /dev/zero"), "", milliseconds(200)).has_value());
}

TEST_F(ChildProcessTest, ADaemonThatHoldsTheOutputDoesNotBlock) {
  const auto result = run_command(shell("sleep 100 & echo $!"), "", kLong);
  ASSERT_TRUE(result.has_value());
  const pid_t left = std::stoi(result->out);
  EXPECT_EQ(::kill(left, 0), 0);
  ::kill(left, SIGKILL);
}

TEST_F(ChildProcessTest, ProgramsAreFoundOnPathOnly) {
  const auto shell_path = find_program("sh");
  ASSERT_TRUE(shell_path.has_value());
  EXPECT_TRUE(shell_path->is_absolute());
  EXPECT_EQ(shell_path->filename(), "sh");
  EXPECT_FALSE(find_program("").has_value());
  EXPECT_FALSE(find_program("carpool-no-such-program").has_value());
}

}  // namespace
}  // namespace carpool
