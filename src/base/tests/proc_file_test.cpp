#include "base/files/proc_file.hpp"

#include <csignal>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(ProcFile, IsReadToItsEnd) {
  EXPECT_TRUE(read_proc_file("/proc/self/stat").starts_with(fmt::format("{} (", ::getpid())));
  EXPECT_GT(read_proc_file("/proc/self/maps").size(), 4096U);
}

TEST(ProcFile, AMissingFileIsEmpty) {
  EXPECT_EQ(read_proc_file("/proc/self/no such file"), "");
  EXPECT_EQ(read_proc_file("/proc"), "");
}

// Reads files of processes that end at any moment of it.
TEST(ProcFile, AProcessMayEndDuringTheRead) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);  // no need to reap them
  for (int round = 0; round < 500; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::_exit(0);
    }
    const std::string file = fmt::format("/proc/{}/stat", child);
    bool there = true;
    for (int look = 0; there && look < 400; ++look) {
      EXPECT_NO_THROW(there = !read_proc_file(file).empty());
    }
  }
  ::signal(SIGCHLD, before);
}

}  // namespace
}  // namespace carpool
