#include "store/private_files.hpp"

#include <sys/stat.h>

#include "base/files/file.hpp"
#include "base/log.hpp"
#include "store/state_files.hpp"
#include "store/tests/state_copy.hpp"

namespace carpool::store {
namespace {

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status{};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

class PrivateFilesTest : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::Off); }
  void TearDown() override { set_log_level(LogLevel::Info); }
  StateFolder state_;
};

TEST_F(PrivateFilesTest, FilesArePrivateWhateverTheUmask) {
  const mode_t before = ::umask(0);
  const auto journal = opened(state_.path());
  std::vector<JobEvent> events = {submitted_event(1, 0.0)};
  ASSERT_TRUE(journal->append(events));
  ::umask(before);
  for (const char* name :
       {"jobs.sqlite", "jobs.sqlite-wal", "jobs.sqlite-shm", "journal-id", "server.lock"}) {
    EXPECT_EQ(mode_of(state_.path() / name), 0600U) << name;
  }
}

TEST_F(PrivateFilesTest, LooseModesOfAnExistingFolderAreFoundAndTightened) {
  opened(state_.path()).reset();
  std::filesystem::create_directory(runs_folder(state_.path()));
  EXPECT_EQ(::chmod(runs_folder(state_.path()).c_str(), 0755), 0);
  EXPECT_EQ(::chmod(journal_file(state_.path()).c_str(), 0644), 0);
  ASSERT_TRUE(write_file(state_.path() / "knowledge.json", "{}"));
  EXPECT_EQ(::chmod((state_.path() / "knowledge.json").c_str(), 0644), 0);
  EXPECT_EQ(::chmod(state_.path().c_str(), 0755), 0);
  opened(state_.path()).reset();
  EXPECT_EQ(mode_of(state_.path()), 0700U);
  EXPECT_EQ(mode_of(runs_folder(state_.path())), 0700U);
  EXPECT_EQ(mode_of(journal_file(state_.path())), 0600U);
  EXPECT_EQ(mode_of(state_.path() / "knowledge.json"), 0600U);
}

TEST_F(PrivateFilesTest, OtherFilesOfTheOwnerKeepWhatTheOwnerMayDo) {
  ASSERT_TRUE(write_file(state_.path() / "script", "true"));
  EXPECT_EQ(::chmod((state_.path() / "script").c_str(), 0755), 0);
  ASSERT_TRUE(write_file(state_.path() / "notes", "read only"));
  EXPECT_EQ(::chmod((state_.path() / "notes").c_str(), 0444), 0);
  opened(state_.path()).reset();
  EXPECT_EQ(mode_of(state_.path() / "script"), 0700U);
  EXPECT_EQ(mode_of(state_.path() / "notes"), 0400U);
}

TEST_F(PrivateFilesTest, LinksAreRefused) {
  const StateFolder elsewhere;
  ASSERT_TRUE(write_file(elsewhere.path() / "theirs", "x"));
  for (const char* name : {"jobs.sqlite", "journal-id", "server.lock"}) {
    std::filesystem::create_symlink(elsewhere.path() / "theirs", state_.path() / name);
    EXPECT_NE(refusal_of(state_.path()).find("is not a regular file"), std::string::npos) << name;
    std::filesystem::remove(state_.path() / name);
  }
  std::filesystem::create_directory_symlink(elsewhere.path(), runs_folder(state_.path()));
  EXPECT_NE(refusal_of(state_.path()).find("is not a folder"), std::string::npos);
  EXPECT_EQ(*read_file(elsewhere.path() / "theirs"), "x");
}

}  // namespace
}  // namespace carpool::store
