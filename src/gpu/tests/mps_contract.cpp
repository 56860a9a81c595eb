#include "gpu/tests/mps_contract.hpp"

#include <csignal>
#include <cstdlib>
#include <memory>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/file.hpp"
#include "base/process/child_process.hpp"
#include "gpu/mps/mps_daemon.hpp"
#include "gpu/mps/process_identity.hpp"

namespace carpool::gpu {

void MpsTest::SetUp() {
  std::string name = testing::TempDir() + "mps-XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  root_ = name;
  folder_ = root_ / "gpu0";
}

void MpsTest::TearDown() {
  std::filesystem::remove_all(root_);
}

pid_t MpsTest::left_behind(const std::string& gpu_uuid) const {
  const pid_t owner = ::fork();
  if (owner == 0) {
    const auto daemon = MpsDaemon::start(gpu_uuid, folder_);
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(owner, nullptr, 0);
  const auto content = read_file(folder_ / "pipe" / "nvidia-cuda-mps-control.pid");
  return content ? std::stoi(*content) : 0;
}

namespace {

using namespace std::chrono_literals;

class MpsContract : public MpsTest {
 protected:
  void SetUp() override {
    MpsTest::SetUp();
    machine_ = mps_machine();
    if (!machine_.skip_because.empty()) {
      GTEST_SKIP() << machine_.skip_because;
    }
  }

  std::unique_ptr<MpsDaemon> started() {
    auto daemon = MpsDaemon::start(machine_.gpu_uuid, folder_);
    EXPECT_TRUE(daemon.has_value()) << daemon.error().message;
    return daemon ? std::move(*daemon) : nullptr;
  }

  MpsMachine machine_;
};

TEST_F(MpsContract, TheProgramSaysWhatItCanDo) {
  const auto abilities = probe_mps();
  ASSERT_TRUE(abilities.has_value()) << abilities.error().message;
  EXPECT_TRUE(abilities->program.is_absolute());
  EXPECT_FALSE(abilities->version.empty());
  EXPECT_TRUE(abilities->terminate_client);
  EXPECT_TRUE(abilities->client_priority);
  EXPECT_TRUE(abilities->pinned_memory_limit);
}

TEST_F(MpsContract, ADaemonStartsAnswersAndStopsWithoutATrace) {
  const auto daemon = started();
  ASSERT_NE(daemon, nullptr);
  EXPECT_TRUE(daemon->alive());
  struct stat status = {};
  ASSERT_EQ(::stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_TRUE(std::filesystem::is_socket(daemon->pipe_folder() / "control"));
  EXPECT_TRUE(std::filesystem::is_regular_file(daemon->log_folder() / "control.log"));
  const auto servers = daemon->servers();
  ASSERT_TRUE(servers.has_value()) << servers.error().message;
  EXPECT_TRUE(servers->empty());
  const auto clients = daemon->clients();
  ASSERT_TRUE(clients.has_value()) << clients.error().message;
  EXPECT_TRUE(clients->empty());
  const auto stopped = daemon->stop(5s);
  EXPECT_TRUE(stopped.has_value()) << stopped.error().message;
  EXPECT_FALSE(daemon->alive());
  EXPECT_FALSE(std::filesystem::exists(folder_));
  EXPECT_TRUE(daemon->stop(5s).has_value());
}

TEST_F(MpsContract, AFolderHasOneDaemonAndIsFreeAgainAfterIt) {
  {
    const auto first = started();
    ASSERT_NE(first, nullptr);
    const auto second = MpsDaemon::start(machine_.gpu_uuid, folder_);
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, ErrorCode::Conflict);
    EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos);
    EXPECT_TRUE(first->alive());
  }
  EXPECT_FALSE(std::filesystem::exists(folder_));
  EXPECT_NE(started(), nullptr);
}

TEST_F(MpsContract, ADaemonThatSomebodyElseStartedIsLeftAlone) {
  const auto abilities = probe_mps();
  ASSERT_TRUE(abilities.has_value());
  const auto pipe = folder_ / "pipe";
  const auto their_log = root_ / "their-log";
  std::filesystem::create_directories(pipe);
  std::filesystem::create_directories(their_log);
  Command command;
  command.argv = {abilities->program.string(), "-d"};
  command.environment = {{"CUDA_MPS_PIPE_DIRECTORY", pipe.string()},
                         {"CUDA_MPS_LOG_DIRECTORY", their_log.string()},
                         {"CUDA_VISIBLE_DEVICES", machine_.gpu_uuid}};
  const auto theirs = run_command(command, "", 20s);
  ASSERT_TRUE(theirs.has_value() && theirs->status.ok());
  command.argv = {abilities->program.string()};
  while (!run_command(command, "get_server_list\n", 20s)->status.ok()) {
    // the daemon goes to the background before it listens
  }
  const auto ours = MpsDaemon::start(machine_.gpu_uuid, folder_);
  ASSERT_FALSE(ours.has_value());
  EXPECT_NE(ours.error().message.find("Carpool did not start"), std::string::npos)
      << ours.error().message;
  const auto swept = sweep_dead_daemons(root_);
  ASSERT_TRUE(swept.has_value());
  EXPECT_TRUE(swept->empty());
  const auto quit = run_command(command, "quit\n", 20s);
  ASSERT_TRUE(quit.has_value());
  EXPECT_TRUE(quit->status.ok()) << "their daemon is gone: " << quit->err;
}

TEST_F(MpsContract, StartingEndsWhatADeadOwnerLeftInTheFolder) {
  const auto process = identify(left_behind(machine_.gpu_uuid));
  ASSERT_TRUE(process.has_value()) << "the daemon must outlive its owner for this test";
  const auto daemon = started();
  ASSERT_NE(daemon, nullptr);
  EXPECT_FALSE(is_alive(*process));
  EXPECT_TRUE(daemon->alive());
}

TEST_F(MpsContract, AGpuThatTheDriverDoesNotHaveIsRefused) {
  const auto daemon = MpsDaemon::start("GPU-00000000-0000-0000-0000-000000000000", folder_);
  ASSERT_FALSE(daemon.has_value());
  EXPECT_EQ(daemon.error().code, ErrorCode::Internal);
  EXPECT_NE(daemon.error().message.find("GPU-00000000"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(MpsContract, TerminatingAClientThatIsNotThereIsAnError) {
  const auto daemon = started();
  ASSERT_NE(daemon, nullptr);
  const auto terminated = daemon->terminate_client({1, 2});
  ASSERT_FALSE(terminated.has_value());
  EXPECT_NE(terminated.error().message.find("client 2"), std::string::npos);
}

}  // namespace
}  // namespace carpool::gpu
