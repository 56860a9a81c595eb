#include "base/files/file.hpp"

#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace carpool {
namespace {

class FileTest : public testing::Test {
 protected:
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                  testing::UnitTest::GetInstance()->current_test_info()->name();
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
};

TEST_F(FileTest, WrittenContentIsReadBackAndNothingElseIsLeft) {
  const auto path = folder_ / "model.json";
  ASSERT_TRUE(write_file(path, "first").has_value());
  ASSERT_TRUE(write_file(path, "second").has_value());
  EXPECT_EQ(read_file(path), "second");
  const auto entries = std::distance(std::filesystem::directory_iterator(folder_), {});
  EXPECT_EQ(entries, 1);
}

TEST_F(FileTest, MissingFileIsNotFoundAndNamed) {
  const auto content = read_file(folder_ / "absent.csv");
  ASSERT_FALSE(content.has_value());
  EXPECT_EQ(content.error().code, ErrorCode::NotFound);
  EXPECT_NE(content.error().message.find("absent.csv"), std::string::npos);
}

TEST_F(FileTest, FolderIsNotAFile) {
  const auto content = read_file(folder_);
  ASSERT_FALSE(content.has_value());
  EXPECT_EQ(content.error().code, ErrorCode::InvalidInput);
}

TEST_F(FileTest, AnythingButARegularFileIsNeverReplaced) {
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(write_file(pipe, "x").has_value());
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(FileTest, ALinkStaysAndWhatItPointsToIsReplaced) {
  const auto target = folder_ / "target.json";
  const auto link = folder_ / "link.json";
  ASSERT_TRUE(write_file(target, "first").has_value());
  std::filesystem::create_symlink(target, link);
  ASSERT_TRUE(write_file(link, "second").has_value());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_file(target), "second");
}

TEST_F(FileTest, ANewFileHasTheModeOfTheUmask) {
  const mode_t before = ::umask(027);
  ASSERT_TRUE(write_file(folder_ / "new", "x"));
  ::umask(before);
  struct stat status = {};
  ASSERT_EQ(::stat((folder_ / "new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_F(FileTest, APrivateFileReplacesOneThatOthersMayRead) {
  const mode_t before = ::umask(022);
  ASSERT_TRUE(write_file(folder_ / "file", "x"));
  ASSERT_TRUE(write_private_file(folder_ / "file", "y"));
  ::umask(before);
  struct stat status = {};
  ASSERT_EQ(::stat((folder_ / "file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

// Other threads create files, too: they must not see another mask for a moment.
TEST_F(FileTest, WritingDoesNotTouchTheUmaskOfTheProcess) {
  const mode_t before = ::umask(077);
  std::atomic<bool> writing = true;
  bool exposed = false;
  {
    const std::jthread writer([&] {
      for (int i = 0; i < 300; ++i) {
        EXPECT_TRUE(write_file(folder_ / "file", "x"));
      }
      writing = false;
    });
    for (int i = 0; writing; ++i) {
      const auto name = folder_ / ("seen" + std::to_string(i));
      const int file = ::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
      struct stat status = {};
      exposed = exposed || ::fstat(file, &status) != 0 || (status.st_mode & 077U) != 0;
      ::close(file);
      ::unlink(name.c_str());
    }
  }
  ::umask(before);
  EXPECT_FALSE(exposed);
}

TEST_F(FileTest, WritingIntoAMissingFolderFails) {
  EXPECT_FALSE(write_file(folder_ / "no" / "file", "x").has_value());
}

TEST_F(FileTest, AnEmptyNameIsRejected) {
  const auto written = write_file("", "content");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::InvalidInput);
}

}  // namespace
}  // namespace carpool
