// What holds for an MPS daemon of ours over the real control program and over its stand-in. A test
// program that wants the suite compiles mps_contract.cpp and says on which machine it runs.
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

// A folder of its own for each test, with a path short enough for sockets.
class MpsTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Starts a daemon in a process that is killed before it can stop it. The number of the daemon, 0
  // when there is none.
  [[nodiscard]] pid_t left_behind(const std::string& gpu_uuid) const;

  std::filesystem::path root_;
  std::filesystem::path folder_;  // in root_, not made
};

}  // namespace carpool::gpu
