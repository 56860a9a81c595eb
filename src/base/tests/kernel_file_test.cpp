#include "base/kernel_file.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(KernelFile, IsReadToItsEnd) {
  EXPECT_TRUE(read_kernel_file("/proc/self/stat").starts_with(fmt::format("{} (", ::getpid())));
  EXPECT_GT(read_kernel_file("/proc/self/maps").size(), 4096U);
}

TEST(KernelFile, WhatIsNotThereIsEmpty) {
  EXPECT_EQ(read_kernel_file("/proc/self/no such file"), "");
  EXPECT_EQ(read_kernel_file("/proc"), "");
}

// Looks at processes that end at any moment of it.
TEST(KernelFile, AProcessMayEndWhileItIsLookedAt) {
  for (int round = 0; round < 300; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::_exit(0);
    }
    const std::string file = fmt::format("/proc/{}/environ", child);
    for (int look = 0; look < 5; ++look) {
      EXPECT_NO_THROW(static_cast<void>(read_kernel_file(file)));
    }
    ::waitpid(child, nullptr, 0);
  }
}

}  // namespace
}  // namespace carpool
