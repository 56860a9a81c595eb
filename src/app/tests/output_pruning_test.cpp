#include "app/server/output_pruning.hpp"

#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "app/tests/fixtures.hpp"
#include "run/run_folder.hpp"

namespace carpool::app {
namespace {

constexpr double kNow = 1'000'000.0;
constexpr const char* kJournal = "journal-of-this-test";

class OutputPruning : public testing::Test {
 protected:
  // An attempt that ended this many seconds ago.
  void add(JobId job,
           double age_s,
           std::size_t bytes,
           const std::string& journal = kJournal) const {
    const run::RunFolder folder = run::RunFolder::of(runs(), {job, 1});
    std::filesystem::create_directories(folder.path());
    ASSERT_TRUE(folder.claim({.boot = "b", .journal = journal}).value_or(false));
    std::ofstream(folder.stdout_file()) << std::string(bytes, 'x');
    std::ofstream(folder.path() / "exit") << "{}";
    const auto ended = static_cast<time_t>(kNow - age_s);
    const timespec times[2] = {{ended, 0}, {ended, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder.path() / "exit").c_str(), times, 0), 0);
  }
  [[nodiscard]] std::filesystem::path runs() const { return folder_.path() / "runs"; }
  [[nodiscard]] bool kept(JobId job) const {
    return std::filesystem::exists(run::RunFolder::of(runs(), {job, 1}).path());
  }
  [[nodiscard]] serve::PruneReport prune(serve::PruneRequest wanted) const {
    wanted.last_job = 10;
    return prune_outputs(runs(), kJournal, wanted, kNow);
  }

  TemporaryFolder folder_;
};

TEST_F(OutputPruning, RemovesWhatIsOlderAndCountsOnlyInADryRun) {
  add(1, 1000.0, 5000);
  add(2, 10.0, 5000);
  const auto told = prune({.older_than_s = 100.0, .dry_run = true});
  EXPECT_EQ(told.removed, (std::vector<RunId>{{1, 1}}));
  EXPECT_TRUE(kept(1));
  const auto done = prune({.older_than_s = 100.0});
  EXPECT_EQ(done.removed, told.removed);
  EXPECT_EQ(done.bytes, told.bytes);
  EXPECT_GE(done.bytes, 5000U);
  EXPECT_FALSE(kept(1));
  EXPECT_TRUE(kept(2));
}

TEST_F(OutputPruning, RemovesTheOldestUntilTheRestIsSmallEnough) {
  add(1, 30.0, 100'000);
  add(2, 20.0, 100'000);
  add(3, 10.0, 100'000);
  const auto done = prune({.keep_bytes = 150'000});
  EXPECT_EQ(done.removed, (std::vector<RunId>{{1, 1}, {2, 1}}));
  EXPECT_LE(done.kept_bytes, 150'000U);
  EXPECT_TRUE(kept(3));
}

TEST_F(OutputPruning, KeepsWhatHasNotEndedBelongsToAnotherJournalOrIsOfAnotherUser) {
  add(1, 1000.0, 10);
  add(2, 1000.0, 10, "another journal");
  add(11, 1000.0, 10);  // submitted after the list of jobs was made
  std::filesystem::create_directories(runs() / "lost+found");
  EXPECT_TRUE(prune({.older_than_s = 1.0, .not_ended = {1}}).removed.empty());
  EXPECT_TRUE(prune({.older_than_s = 1.0, .uid = ::geteuid() + 1}).removed.empty());
  EXPECT_EQ(prune({.older_than_s = 1.0, .uid = ::geteuid()}).removed, (std::vector<RunId>{{1, 1}}));
  EXPECT_TRUE(kept(2));
  EXPECT_TRUE(kept(11));
}

}  // namespace
}  // namespace carpool::app
