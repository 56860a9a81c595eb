#include "run/progress_files.hpp"

#include <cstdlib>
#include <sys/stat.h>

#include <gtest/gtest.h>

namespace carpool::run {
namespace {

class ProgressFilesTest : public testing::Test {
 protected:
  ProgressFilesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "cp-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    place_ = {.folder = root_ / "progress" / "journal", .library = "/lib/l.so"};
    spec_.run = {17, 2};
    spec_.owner.uid = ::geteuid() == 0 ? 4711 : ::geteuid();
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::map<std::string, std::string> made(const std::map<std::string, std::string>& env = {}) {
    const auto variables = files().make(place_, spec_, env);
    EXPECT_TRUE(variables) << variables.error().message;
    return variables.value_or(std::map<std::string, std::string>{});
  }
  [[nodiscard]] ProgressFiles files() const { return ProgressFiles::of(place_.folder, spec_.run); }

  std::filesystem::path root_;
  ProgressPlace place_;
  LaunchSpec spec_;
};

TEST_F(ProgressFilesTest, BelongToTheUserOfTheJobInAFolderOfTheServer) {
  const std::map<std::string, std::string> expected{{"CARPOOL_STEP_FILE", files().step_file()},
                                                    {"CARPOOL_WINDOW_FILE", files().window_file()},
                                                    {"CUDA_INJECTION64_PATH", "/lib/l.so"}};
  EXPECT_EQ(made(), expected);
  for (const auto& file : {files().step_file(), files().window_file()}) {
    struct stat status{};
    ASSERT_EQ(::stat(file.c_str(), &status), 0) << file;
    EXPECT_EQ(status.st_uid, spec_.owner.uid);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    ASSERT_EQ(::stat(file.parent_path().c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, ::geteuid());
    EXPECT_EQ(status.st_mode & 0777U, 0711U);
  }
  EXPECT_EQ(made(), expected);  // an attempt of the same number, whose state was lost
  files().remove();
  EXPECT_FALSE(std::filesystem::exists(files().step_file()));
}

TEST_F(ProgressFilesTest, AJobThatWantsNoneGetsNone) {
  spec_.job.progress = "none";
  EXPECT_TRUE(made().empty());
  EXPECT_FALSE(std::filesystem::exists(root_ / "progress"));
}

TEST_F(ProgressFilesTest, TheJobsOwnVariablesStay) {
  const auto variables = made({{"CUDA_INJECTION64_PATH", "/theirs"}, {"CARPOOL_STEP_FILE", "/s"}});
  EXPECT_TRUE(variables.empty());
}

TEST_F(ProgressFilesTest, WithoutALibraryOnlyStepsAreCounted) {
  place_.library.clear();
  EXPECT_EQ(made().size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(files().window_file()));
}

}  // namespace
}  // namespace carpool::run
