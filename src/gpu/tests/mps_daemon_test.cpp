#include "gpu/mps/mps_daemon.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "base/process/child_process.hpp"
#include "gpu/mps/mps_folder.hpp"
#include "gpu/mps/process_identity.hpp"
#include "gpu/tests/mps_contract.hpp"

namespace carpool::gpu {

namespace {
constexpr const char* kGpu = "GPU-11111111-2222-3333-4444-555555555555";
}

MpsMachine mps_machine() {
  ::setenv("CARPOOL_MPS_CONTROL", CARPOOL_FAKE_MPS_CONTROL, 1);
  ::setenv("FAKE_MPS_GPUS", kGpu, 1);
  ::unsetenv("FAKE_MPS_OLD");
  return {kGpu, {}};
}

namespace {

using namespace std::chrono_literals;

class MpsDaemonTest : public MpsTest {
 protected:
  void SetUp() override {
    MpsTest::SetUp();
    ASSERT_EQ(mps_machine().gpu_uuid, kGpu);
  }
  void TearDown() override {
    ::unsetenv("FAKE_MPS_OLD");
    MpsTest::TearDown();
  }

  std::unique_ptr<MpsDaemon> started() {
    auto daemon = MpsDaemon::start(kGpu, folder_);
    EXPECT_TRUE(daemon.has_value()) << daemon.error().message;
    return daemon ? std::move(*daemon) : nullptr;
  }

  // A process that the fake lists as a client until it ends.
  static ChildProcess client(const MpsDaemon& daemon) {
    Command command;
    command.argv = {"sh", "-c", "exec sleep 1000"};
    command.environment = daemon.client_environment({});
    auto child = ChildProcess::start(command, {});
    EXPECT_TRUE(write_file(daemon.pipe_folder() / ("client." + std::to_string(child->pid())), "")
                    .has_value());
    return std::move(*child);
  }
};

bool comes_true(const std::function<bool()>& condition) {
  const Stopwatch watch;
  while (!condition()) {
    if (watch.seconds() > 20.0) {
      return false;
    }
    pause_for(2ms);
  }
  return true;
}

TEST_F(MpsDaemonTest, ClientsAndTheirServerAreListed) {
  const auto daemon = started();
  ASSERT_NE(daemon, nullptr);
  ChildProcess first = client(*daemon);
  ChildProcess second = client(*daemon);
  const auto servers = daemon->servers();
  ASSERT_TRUE(servers.has_value()) << servers.error().message;
  ASSERT_EQ(servers->size(), 1U);
  EXPECT_FALSE(servers->front().faulted);
  const auto clients = daemon->clients();
  ASSERT_TRUE(clients.has_value()) << clients.error().message;
  ASSERT_EQ(clients->size(), 2U);
  EXPECT_EQ(clients->front().server, servers->front().pid);
  first.end(5s);
  EXPECT_EQ(daemon->clients()->size(), 1U);
  EXPECT_EQ(daemon->clients()->front().pid, second.pid());
  second.end(5s);
}

TEST_F(MpsDaemonTest, AFaultedServerIsReportedUntilItsClientsAreGone) {
  const auto daemon = started();
  ASSERT_NE(daemon, nullptr);
  ChildProcess only = client(*daemon);
  ASSERT_TRUE(write_file(daemon->pipe_folder() / "fault", "").has_value());
  EXPECT_TRUE(daemon->servers()->front().faulted);
  only.end(5s);
  EXPECT_FALSE(daemon->servers()->front().faulted);
}

TEST_F(MpsDaemonTest, OneClientIsTerminatedAndTheOtherStays) {
  const auto daemon = started();
  ASSERT_NE(daemon, nullptr);
  ChildProcess first = client(*daemon);
  ChildProcess second = client(*daemon);
  const pid_t server = daemon->servers()->front().pid;
  const auto terminated = daemon->terminate_client({server, first.pid()});
  EXPECT_TRUE(terminated.has_value()) << terminated.error().message;
  ASSERT_EQ(daemon->clients()->size(), 1U);
  EXPECT_EQ(daemon->clients()->front().pid, second.pid());
  EXPECT_FALSE(daemon->terminate_client({server, first.pid()}).has_value());
  second.end(5s);
}

TEST_F(MpsDaemonTest, AnOldDriverCannotTerminateAndKnowsNoFaults) {
  ::setenv("FAKE_MPS_OLD", "1", 1);
  const auto abilities = probe_mps();
  ASSERT_TRUE(abilities.has_value());
  EXPECT_FALSE(abilities->terminate_client);
  EXPECT_EQ(abilities->version, "");
  const auto daemon = started();
  ASSERT_NE(daemon, nullptr);
  ChildProcess only = client(*daemon);
  ASSERT_EQ(daemon->servers()->size(), 1U);
  EXPECT_FALSE(daemon->servers()->front().faulted);
  const auto terminated = daemon->terminate_client(daemon->clients()->front());
  ASSERT_FALSE(terminated.has_value());
  EXPECT_EQ(terminated.error().code, ErrorCode::Unsupported);
  only.end(5s);
}

TEST_F(MpsDaemonTest, StoppingUnderAClientNamesItAndEndsDaemonAndServer) {
  const auto daemon = started();
  ASSERT_NE(daemon, nullptr);
  ChildProcess only = client(*daemon);
  const auto server = identify(daemon->servers()->front().pid);
  ASSERT_TRUE(server.has_value());
  const auto stopped = daemon->stop(100ms);
  ASSERT_FALSE(stopped.has_value());
  EXPECT_NE(stopped.error().message.find(std::to_string(only.pid())), std::string::npos);
  EXPECT_FALSE(daemon->alive());
  EXPECT_TRUE(comes_true([&] { return !is_alive(*server); }));
  EXPECT_FALSE(only.poll().has_value()) << "the client itself is the caller's";
  EXPECT_FALSE(std::filesystem::exists(daemon->pipe_folder()));
  EXPECT_TRUE(std::filesystem::exists(daemon->log_folder() / "control.log"));
}

TEST_F(MpsDaemonTest, ADaemonThatHangsIsKilled) {
  const auto daemon = started();
  ASSERT_NE(daemon, nullptr);
  ASSERT_TRUE(write_file(daemon->pipe_folder() / "hang", "").has_value());
  const auto stopped = daemon->stop(100ms);
  ASSERT_FALSE(stopped.has_value());
  EXPECT_NE(stopped.error().message.find("killed"), std::string::npos);
  EXPECT_FALSE(daemon->alive());
  EXPECT_NE(started(), nullptr) << "the folder is free again";
}

TEST_F(MpsDaemonTest, ADaemonThatDiedIsNoticedAndStoppingItIsFine) {
  const auto daemon = started();
  ASSERT_NE(daemon, nullptr);
  const pid_t pid = std::stoi(*read_file(daemon->pipe_folder() / "nvidia-cuda-mps-control.pid"));
  ::kill(pid, SIGKILL);
  EXPECT_TRUE(comes_true([&] { return !daemon->alive(); }));
  const auto servers = daemon->servers();
  ASSERT_FALSE(servers.has_value());
  EXPECT_EQ(servers.error().code, ErrorCode::NotFound);
  EXPECT_TRUE(daemon->stop(1s).has_value());
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

// The next keeper has claimed the folder while this one noticed that its daemon is dead.
TEST_F(MpsDaemonTest, ADaemonThatDiesAtItsStartIsNotWaitedFor) {
  const std::filesystem::path program = std::filesystem::path(folder_).concat(".sh");
  ASSERT_TRUE(write_file(program,
                         fmt::format("#!/bin/sh\n"
                                     "[ \"$1\" = -d ] || exec \"{0}\" \"$@\"\n"
                                     "\"{0}\" \"$@\"\n"
                                     "file=$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid\n"
                                     "until kill -9 \"$(cat \"$file\")\"; do sleep 0.01; done "
                                     "2>/dev/null\n",
                                     CARPOOL_FAKE_MPS_CONTROL)));
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  ::setenv("CARPOOL_MPS_CONTROL", program.c_str(), 1);
  const auto daemon = MpsDaemon::start(kGpu, folder_);
  ASSERT_FALSE(daemon);
  EXPECT_NE(daemon.error().message.find("ended as soon as it was started"), std::string::npos)
      << daemon.error().message;
  std::filesystem::remove(program);
}

TEST_F(MpsDaemonTest, AFolderThatHasAnotherOwnerIsLeftToIt) {
  const auto daemon = started();
  ASSERT_NE(daemon, nullptr);
  ASSERT_TRUE(write_file(folder_ / "carpool-owner", "1 1\n").has_value());
  EXPECT_TRUE(daemon->stop(1s).has_value());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "carpool-owner"));
}

TEST_F(MpsDaemonTest, AFolderThatIsRemovedMeanwhileCanBeMadeAgain) {
  const auto folder = MpsFolder::at(folder_);
  ASSERT_TRUE(folder.has_value());
  const auto lock = folder->lock();
  ASSERT_FALSE(lock.has_value());
  EXPECT_EQ(lock.error().code, ErrorCode::Conflict) << "a keeper tries again";
}

TEST_F(MpsDaemonTest, SweepingEndsLeftoversAndNothingElse) {
  const auto process = identify(left_behind(kGpu));
  ASSERT_TRUE(process.has_value());
  auto neighbour = MpsDaemon::start(kGpu, root_ / "gpu1");
  ASSERT_TRUE(neighbour.has_value()) << neighbour.error().message;
  std::filesystem::create_directories(root_ / "other");
  ASSERT_TRUE(write_file(root_ / "other" / "precious", "x").has_value());
  const auto swept = sweep_dead_daemons(root_);
  ASSERT_TRUE(swept.has_value()) << swept.error().message;
  EXPECT_EQ(*swept, std::vector<std::filesystem::path>{folder_});
  EXPECT_FALSE(is_alive(*process));
  EXPECT_FALSE(std::filesystem::exists(folder_));
  EXPECT_TRUE((*neighbour)->alive());
  EXPECT_TRUE(std::filesystem::exists(root_ / "other" / "precious"));
  EXPECT_TRUE(sweep_dead_daemons(root_ / "absent")->empty());
}

// The daemon has died and another process has its PID.
TEST_F(MpsDaemonTest, AProcessThatOnlyHasTheNumberOfADeadDaemonIsNotTouched) {
  ASSERT_GT(left_behind(kGpu), 0);
  auto bystander = ChildProcess::start(Command{{"sleep", "1000"}, {}, {}}, {});
  ASSERT_TRUE(bystander.has_value());
  const auto pid_file = folder_ / "pipe" / "nvidia-cuda-mps-control.pid";
  const pid_t daemon = std::stoi(*read_file(pid_file));
  ::kill(daemon, SIGKILL);
  EXPECT_TRUE(comes_true([&] { return !identify(daemon); }));
  ASSERT_TRUE(write_file(pid_file, std::to_string(bystander->pid())).has_value());
  EXPECT_EQ(sweep_dead_daemons(root_)->size(), 1U);
  EXPECT_FALSE(bystander->poll().has_value());
}

TEST_F(MpsDaemonTest, FoldersThatCannotBeOursAreRefused) {
  const auto refused = [&](const std::filesystem::path& folder, const std::string& because) {
    const auto daemon = MpsDaemon::start(kGpu, folder);
    ASSERT_FALSE(daemon.has_value()) << folder;
    EXPECT_EQ(daemon.error().code, ErrorCode::InvalidInput);
    EXPECT_NE(daemon.error().message.find(because), std::string::npos) << daemon.error().message;
  };
  refused(root_ / std::string(100, 'x'), "name a shorter one");
  refused("", "needs a folder for its pipe");
  ASSERT_TRUE(write_file(root_ / "file", "x").has_value());
  refused(root_ / "file", "not a folder");
  std::filesystem::create_directory(root_ / "real");
  std::filesystem::create_directory_symlink(root_ / "real", root_ / "link");
  refused(root_ / "link", "not a folder");
  ASSERT_TRUE(write_file(root_ / "real" / "thesis.tex", "x").has_value());
  refused(root_ / "real", "thesis.tex");
  std::filesystem::create_directory(folder_);
  ASSERT_TRUE(write_file(folder_ / "carpool-owner", "nonsense").has_value());
  refused(folder_, "carpool-owner");
}

TEST_F(MpsDaemonTest, WhatIsNoUuidIsRefused) {
  for (const char* wrong : {"", "0", "GPU-1,GPU-2", "GPU-1\nquit"}) {
    const auto daemon = MpsDaemon::start(wrong, folder_);
    ASSERT_FALSE(daemon.has_value()) << wrong;
    EXPECT_EQ(daemon.error().code, ErrorCode::InvalidInput);
    EXPECT_NE(daemon.error().message.find("is not the UUID of a GPU"), std::string::npos);
  }
}

TEST_F(MpsDaemonTest, AClientsEnvironmentHoldsItsLimitsAndNoneOfOurs) {
  const auto daemon = started();
  ASSERT_NE(daemon, nullptr);
  MpsClientLimits limits;
  limits.thread_percentage = 12.5;
  limits.low_priority = true;
  limits.pinned_memory_bytes = std::uint64_t{40} << 30U;
  auto environment = daemon->client_environment(limits);
  EXPECT_EQ(environment["CUDA_MPS_PIPE_DIRECTORY"], daemon->pipe_folder().string());
  EXPECT_EQ(environment["CUDA_VISIBLE_DEVICES"], kGpu);
  EXPECT_EQ(environment["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "12.5");
  EXPECT_EQ(environment["CUDA_MPS_CLIENT_PRIORITY"], "1");
  EXPECT_EQ(environment["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], "0=40960M");
  environment = daemon->client_environment({});
  ASSERT_TRUE(environment.contains("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"));
  EXPECT_EQ(environment["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "");
  EXPECT_EQ(environment["CUDA_MPS_CLIENT_PRIORITY"], "");
}

TEST_F(MpsDaemonTest, WithoutTheProgramItIsSaidWhatToDo) {
  ::setenv("CARPOOL_MPS_CONTROL", (root_ / "absent").c_str(), 1);
  const auto abilities = probe_mps();
  ASSERT_FALSE(abilities.has_value());
  EXPECT_EQ(abilities.error().code, ErrorCode::Unsupported);
  EXPECT_NE(abilities.error().message.find("CARPOOL_MPS_CONTROL"), std::string::npos);
  ::unsetenv("CARPOOL_MPS_CONTROL");
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", root_.c_str(), 1);
  const auto on_path = probe_mps();
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(on_path.has_value());
  EXPECT_NE(on_path.error().message.find("nvidia-cuda-mps"), std::string::npos);
}

}  // namespace
}  // namespace carpool::gpu
