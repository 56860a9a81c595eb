#include "interpose/state/state_file.hpp"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <vector>

#include "interpose/state/state_folder.hpp"
#include "interpose/tests/state_folder_fixture.hpp"

namespace carpool::interpose {
namespace {

class StateFileTest : public testing::Test {
 protected:
  [[nodiscard]] StateError open(StateFile::Missing missing = StateFile::Missing::Make) const {
    StateFile file;
    return file.open(folder_.path(), kTestGpu, ::geteuid(), missing);
  }
  void overwrite(std::streamoff offset, std::uint64_t value, std::streamsize bytes = 8) const {
    std::fstream file(folder_.file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset).write(reinterpret_cast<const char*>(&value), bytes);
    ASSERT_TRUE(file.good());
  }
  StateFolder folder_;
};

TEST_F(StateFileTest, MakesAFileThatOnlyItsUserMayOpen) {
  EXPECT_EQ(open(StateFile::Missing::Refuse), StateError::Absent);
  EXPECT_EQ(open(), StateError::None);
  struct stat found{};
  ASSERT_EQ(::stat(folder_.file().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777U, 0600U);
  EXPECT_EQ(static_cast<std::size_t>(found.st_size), sizeof(SharedState));
  EXPECT_LT(found.st_blocks * 512, 2 * 1024 * 1024);  // the logs take no memory yet
  EXPECT_EQ(open(StateFile::Missing::Refuse), StateError::None);
}

TEST_F(StateFileTest, MakesItsFolderAndTheOneAbove) {
  const std::string inner = folder_.path() + "/carpool/state";
  StateFile file;
  EXPECT_EQ(file.open(inner, kTestGpu, ::geteuid()), StateError::None);
  struct stat found{};
  ASSERT_EQ(::stat(inner.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777U, 0700U);
}

TEST_F(StateFileTest, RefusesWhatOthersMayRead) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  EXPECT_EQ(open(), StateError::Foreign);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0700), 0);
  ASSERT_EQ(open(), StateError::None);
  ASSERT_EQ(::chmod(folder_.file().c_str(), 0660), 0);
  EXPECT_EQ(open(), StateError::Foreign);
}

TEST_F(StateFileTest, RefusesAnotherUsersFolder) {
  ASSERT_EQ(open(), StateError::None);
  StateFile file;
  EXPECT_EQ(file.open(folder_.path(), kTestGpu, ::geteuid() + 1), StateError::Foreign);
}

TEST_F(StateFileTest, RefusesLinksAndOtherThings) {
  const std::string link = folder_.path() + "-link";
  ASSERT_EQ(::symlink(folder_.path().c_str(), link.c_str()), 0);
  StateFile file;
  EXPECT_EQ(file.open(link, kTestGpu, ::geteuid()), StateError::NotAFile);
  ::unlink(link.c_str());

  ASSERT_EQ(::symlink("elsewhere", folder_.file().c_str()), 0);
  EXPECT_EQ(open(), StateError::NotAFile);
  ::unlink(folder_.file().c_str());
  ASSERT_EQ(::mkfifo(folder_.file().c_str(), 0600), 0);
  EXPECT_EQ(open(), StateError::NotAFile);
  ::unlink(folder_.file().c_str());
  ASSERT_EQ(::mkdir(folder_.file().c_str(), 0700), 0);
  EXPECT_EQ(open(), StateError::NotAFile);
}

TEST_F(StateFileTest, RefusesNamesThatAreNotUuids) {
  StateFile file;
  for (const char* name : {"", "../../etc/passwd", "GPU 1", "GPU-\n"}) {
    EXPECT_EQ(file.open(folder_.path(), name, ::geteuid()), StateError::OtherGpu) << name;
  }
}

TEST_F(StateFileTest, RefusesOtherLayouts) {
  ASSERT_EQ(open(), StateError::None);
  const auto at = [](std::size_t offset) { return static_cast<std::streamoff>(offset); };
  const auto version = at(offsetof(StateHeader, version));
  overwrite(version, kLayoutVersion - 1, 4);
  EXPECT_EQ(open(), StateError::OlderLayout);
  overwrite(version, kLayoutVersion + 1, 4);
  EXPECT_EQ(open(), StateError::NewerLayout);
  overwrite(version, kLayoutVersion, 4);
  EXPECT_EQ(open(), StateError::None);
  overwrite(at(offsetof(StateHeader, layout_digest)), layout_digest() + 1);
  EXPECT_EQ(open(), StateError::Corrupt);
  overwrite(at(offsetof(StateHeader, layout_digest)), layout_digest());
  overwrite(at(offsetof(StateHeader, gpu_uuid)), 'X', 1);
  EXPECT_EQ(open(), StateError::OtherGpu);
  overwrite(at(offsetof(StateHeader, gpu_uuid)), 'G', 1);
  overwrite(at(offsetof(StateHeader, magic)), 42);
  EXPECT_EQ(open(), StateError::Corrupt);
}

TEST_F(StateFileTest, RefusesFilesOfAnotherSize) {
  ASSERT_EQ(open(), StateError::None);
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{100}, sizeof(SharedState) - 1, sizeof(SharedState) + 1}) {
    std::filesystem::resize_file(folder_.file(), size);
    EXPECT_EQ(open(), StateError::Corrupt) << size;
  }
}

TEST_F(StateFileTest, FinishesAFileThatWasLeftHalfMade) {
  std::ofstream(folder_.file()).close();
  ASSERT_EQ(::chmod(folder_.file().c_str(), 0600), 0);
  EXPECT_EQ(open(StateFile::Missing::Refuse), StateError::Absent);
  EXPECT_EQ(open(), StateError::None);
  overwrite(static_cast<std::streamoff>(offsetof(StateHeader, ready)), 0);
  EXPECT_EQ(open(), StateError::None);
  EXPECT_EQ(open(StateFile::Missing::Refuse), StateError::None);
}

TEST_F(StateFileTest, IsMadeOnceByRacingProcesses) {
  constexpr int kRacers = 8;
  std::vector<pid_t> children;
  children.reserve(kRacers);
  for (int index = 0; index < kRacers; ++index) {
    children.push_back(start_process([&] {
      Client client;
      return folder_.join(client) == StateError::None && client.id().valid() ? 0 : 1;
    }));
  }
  for (const pid_t child : children) {
    EXPECT_EQ(status_of(child), 0);
  }
  EXPECT_TRUE(folder_.report().clients.empty());
}

TEST_F(StateFileTest, IsReplacedOnlyWhileUnused) {
  Client client;
  ASSERT_EQ(folder_.join(client), StateError::None);
  overwrite(static_cast<std::streamoff>(offsetof(StateHeader, version)), 99, 4);
  EXPECT_EQ(open(), StateError::NewerLayout);
  EXPECT_EQ(remove_unused_state(folder_.path(), kTestGpu, ::geteuid()), StateError::Busy);
  client.leave();
  EXPECT_EQ(remove_unused_state(folder_.path(), kTestGpu, ::geteuid()), StateError::None);
  EXPECT_EQ(open(), StateError::None);
}

TEST(StateFolderName, FollowsTheEnvironment) {
  PathBuffer path{};
  ::setenv("CARPOOL_STATE_DIR", "/run/carpool/users/7", 1);
  ASSERT_TRUE(default_state_folder(path));
  EXPECT_STREQ(path.data(), "/run/carpool/users/7");
  ::unsetenv("CARPOOL_STATE_DIR");
  StateFolder runtime;
  ::setenv("XDG_RUNTIME_DIR", runtime.path().c_str(), 1);
  ASSERT_TRUE(default_state_folder(path));
  EXPECT_EQ(path.data(), runtime.path() + "/carpool/state");
  ::setenv("XDG_RUNTIME_DIR", "relative", 1);
  ::setenv("TMPDIR", "/var/tmp", 1);
  ASSERT_TRUE(default_state_folder(path));
  EXPECT_EQ(path.data(), "/var/tmp/carpool-" + std::to_string(::geteuid()) + "/state");
  ::unsetenv("TMPDIR");
  ::unsetenv("XDG_RUNTIME_DIR");
}

TEST(StateErrorText, IsThereForEveryError) {
  for (int error = 0; error <= static_cast<int>(StateError::System); ++error) {
    EXPECT_STRNE(describe(static_cast<StateError>(error)), "unknown error");
  }
}

}  // namespace
}  // namespace carpool::interpose
