#include "base/process/cgroup.hpp"

#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(Cgroup, TheMountOfVersion2IsFoundOnUnifiedAndHybridHosts) {
  const auto unified = parse_cgroup_mount(
      "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  ASSERT_TRUE(unified);
  EXPECT_EQ(unified->point, "/sys/fs/cgroup");
  EXPECT_EQ(unified->root, "/");
  const auto hybrid = parse_cgroup_mount(
      "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
      "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
      "41 31 0:38 /box /sys/fs/cgroup/my\\040unified rw,relatime - cgroup2 cgroup2 rw\n");
  ASSERT_TRUE(hybrid);
  EXPECT_EQ(hybrid->point, "/sys/fs/cgroup/my unified");
  EXPECT_EQ(hybrid->root, "/box");
}

TEST(Cgroup, WithoutVersion2ThereIsNoMount) {
  EXPECT_FALSE(parse_cgroup_mount(""));
  EXPECT_FALSE(parse_cgroup_mount("41 31 0:38 / /x rw - cgroup cgroup rw\n\nnonsense - cgroup2\n"));
  EXPECT_FALSE(parse_cgroup_mount("1 2 0:3 / /cgroup2 rw\n"));
}

TEST(Cgroup, ThePathOfAProcessIsInTheLineOfHierarchyZero) {
  EXPECT_EQ(parse_cgroup_path("8:pids:/\n4:memory:/a\n0::/system.slice/carpool.service\n"),
            "/system.slice/carpool.service");
  EXPECT_EQ(parse_cgroup_path("0::/\n"), "/");
  EXPECT_FALSE(parse_cgroup_path("8:pids:/\n10::/x\n"));
  EXPECT_FALSE(parse_cgroup_path("0::/gone (deleted)\n"));
}

TEST(Cgroup, TheFolderIsBelowTheMountPointOrNotVisible) {
  const CgroupMount whole{.point = "/sys/fs/cgroup", .root = "/"};
  EXPECT_EQ(cgroup_folder(whole, "/a/b"), "/sys/fs/cgroup/a/b");
  EXPECT_EQ(cgroup_folder(whole, "/"), "/sys/fs/cgroup");
  EXPECT_FALSE(cgroup_folder(whole, "/../outside"));
  const CgroupMount part{.point = "/mnt", .root = "/box"};
  EXPECT_EQ(cgroup_folder(part, "/box/a"), "/mnt/a");
  EXPECT_FALSE(cgroup_folder(part, "/other"));
}

TEST(Cgroup, WhatDoesNotExistIsEmptyAndRemoved) {
  const std::filesystem::path nowhere = "/no/such/cgroup";
  EXPECT_FALSE(is_populated(nowhere));
  EXPECT_TRUE(remove_cgroup(nowhere));
  EXPECT_FALSE(cgroup_memory_kills(nowhere));
  EXPECT_FALSE(has_controller(nowhere, "pids"));
  EXPECT_FALSE(enter_cgroup(nowhere, ::getpid()));
}

TEST(Cgroup, EndingOneKillsItsProcessesAndThoseOfTheCgroupsBelow) {
  const auto own = cgroup_of(::getpid());
  const std::filesystem::path cgroup =
      own.value_or("/no/cgroup") / fmt::format("carpool-test-{}", ::getpid());
  if (!own || !make_cgroup(cgroup)) {
    GTEST_SKIP() << "no cgroup version 2 that this user may divide";
  }
  const std::filesystem::path below = cgroup / "below";
  ASSERT_TRUE(make_cgroup(below));
  for (const std::filesystem::path& place : {cgroup, below}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    ASSERT_TRUE(enter_cgroup(place, child));
    EXPECT_EQ(cgroup_of(child), place);
  }
  EXPECT_TRUE(is_populated(cgroup));
  EXPECT_FALSE(remove_cgroup(cgroup));
  EXPECT_TRUE(end_cgroup(cgroup, std::chrono::seconds(20)));
  EXPECT_FALSE(std::filesystem::exists(cgroup));
  for (int i = 0; i < 2; ++i) {
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
}

}  // namespace
}  // namespace carpool
