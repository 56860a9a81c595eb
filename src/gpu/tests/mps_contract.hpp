// Contract tests of MpsDaemon, over the real control program and over its fake. A test program
// compiles mps_contract.cpp and defines the machine that it runs on.
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>

#include <gtest/gtest.h>

namespace carpool::gpu {

struct MpsMachine {
  std::string gpu_uuid;
  std::string skip_because;  // not empty: the suite is skipped
};

// Defined by each test program.
[[nodiscard]] MpsMachine mps_machine();

// Each test gets a folder with a path short enough for sockets.
class MpsTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Starts a daemon in a process that is killed before it can stop it. Returns the PID of the
  // daemon; 0 if there is none.
  [[nodiscard]] pid_t left_behind(const std::string& gpu_uuid) const;

  std::filesystem::path root_;
  std::filesystem::path folder_;  // in root_, does not exist yet
};

}  // namespace carpool::gpu
