#include "profile/watch/scratch.hpp"

#include <cstdlib>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/tests/temporary_folder.hpp"

namespace carpool::profile {
namespace {

class ScratchTest : public testing::Test {
 protected:
  void SetUp() override { ::setenv("XDG_RUNTIME_DIR", runtime_.path().c_str(), 1); }
  void TearDown() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  // The PID of a process that has ended.
  static pid_t gone() {
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    return child;
  }

  TemporaryFolder runtime_;
  std::filesystem::path root_ = runtime_.path() / "carpool";
};

TEST_F(ScratchTest, IsOursAloneAndGoneWithItsOwner) {
  std::filesystem::path path;
  {
    const auto scratch = ScratchFolder::make();
    ASSERT_TRUE(scratch.has_value()) << scratch.error().message;
    path = scratch->path();
    EXPECT_EQ(path, root_ / ("scratch-" + std::to_string(::getpid())));
    EXPECT_EQ(scratch->mps_folder(), root_ / ("mps-" + std::to_string(::getpid())));
    struct stat status{};
    ASSERT_EQ(::stat(root_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
    ASSERT_TRUE(write_file(path / "file", "x").has_value());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ScratchTest, MovedOnceItIsRemovedOnce) {
  auto first = ScratchFolder::make();
  ASSERT_TRUE(first.has_value());
  std::optional<ScratchFolder> second(std::move(*first));
  EXPECT_TRUE(std::filesystem::exists(second->path()));
  const auto path = second->path();
  second.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ScratchTest, WhatTheDeadLeftIsClearedAwayAndNothingElse) {
  ASSERT_EQ(::mkdir(root_.c_str(), 0700), 0);
  const auto left = root_ / ("scratch-" + std::to_string(gone()));
  const auto living = root_ / ("scratch-" + std::to_string(::getppid()));
  const auto foreign = root_ / "scratch-notes";
  for (const auto& folder : {left, living, foreign}) {
    ASSERT_TRUE(std::filesystem::create_directory(folder));
    ASSERT_TRUE(write_file(folder / "file", "x").has_value());
  }
  ASSERT_TRUE(ScratchFolder::make().has_value());
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(living / "file"));
  EXPECT_TRUE(std::filesystem::exists(foreign / "file"));
}

TEST_F(ScratchTest, AFolderThatOthersMayWriteToIsRefused) {
  ASSERT_EQ(::mkdir(root_.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(root_.c_str(), 0777), 0);
  const auto scratch = ScratchFolder::make();
  ASSERT_FALSE(scratch.has_value());
  EXPECT_NE(scratch.error().message.find("mode 0700"), std::string::npos);
}

TEST_F(ScratchTest, ALinkInItsPlaceIsRefused) {
  const auto elsewhere = runtime_.path() / "elsewhere";
  ASSERT_EQ(::mkdir(elsewhere.c_str(), 0700), 0);
  std::filesystem::create_directory_symlink(elsewhere, root_);
  EXPECT_FALSE(ScratchFolder::make().has_value());
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere));
}

TEST_F(ScratchTest, WithoutARuntimeFolderTheTemporaryOneServes) {
  ::unsetenv("XDG_RUNTIME_DIR");
  ::setenv("TMPDIR", runtime_.path().c_str(), 1);
  {
    const auto scratch = ScratchFolder::make();
    ASSERT_TRUE(scratch.has_value()) << scratch.error().message;
    EXPECT_EQ(scratch->path().parent_path(),
              runtime_.path() / ("carpool-" + std::to_string(::geteuid())));
  }
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace carpool::profile
