// A journal that is missing, exchanged, older or new beside the outputs of another.
#include <fmt/format.h>

#include "base/files/file.hpp"
#include "base/log.hpp"
#include "store/journal_backup.hpp"
#include "store/journal_check.hpp"
#include "store/journal_repair.hpp"
#include "store/state_files.hpp"
#include "store/tests/state_copy.hpp"

namespace carpool::store {
namespace {

class JournalIdentityTest : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::Off); }
  void TearDown() override { set_log_level(LogLevel::Info); }

  // Jobs first to last, which ran.
  void add_jobs(JobId first, JobId last) const {
    const auto journal = opened(state_.path());
    for (JobId job = first; job <= last; ++job) {
      auto life = whole_life(job, static_cast<double>(job));
      ASSERT_TRUE(journal->append(life));
      std::filesystem::create_directories(runs_folder(state_.path()) / fmt::format("{}.1", job));
    }
  }
  void expect_refused(const std::vector<std::string>& parts) const {
    const std::string words = refusal_of(state_.path());
    for (const std::string& part : parts) {
      EXPECT_NE(words.find(part), std::string::npos) << part << " in: " << words;
    }
  }
  void repair() const {
    const auto check = check_journal(state_.path(), CheckDepth::Full);
    ASSERT_TRUE(check);
    const auto report = repair_journal(state_.path(), *check, RepairMode::SaveWhatIsLeft);
    ASSERT_TRUE(report) << report.error().message;
  }

  StateFolder state_;
};

TEST_F(JournalIdentityTest, AnIdentityIsGivenOnceAndKept) {
  const std::string first = opened(state_.path())->identity();
  EXPECT_EQ(first.size(), 32U);
  EXPECT_EQ(opened(state_.path())->identity(), first);
  const StateFolder other;
  EXPECT_NE(opened(other.path())->identity(), first);
}

TEST_F(JournalIdentityTest, AMissingJournalBesideRunsIsRefused) {
  add_jobs(1, 17);
  std::filesystem::remove(journal_file(state_.path()));
  expect_refused({"is missing", "jobs up to number 17", "carpool journal repair", "Restore"});
  EXPECT_FALSE(std::filesystem::exists(journal_file(state_.path()))) << "nothing is created";
  ASSERT_TRUE(write_file(journal_file(state_.path()), ""));
  expect_refused({"is missing or empty", "jobs up to number 17"});
}

TEST_F(JournalIdentityTest, ANewJournalBesideOldRunsIsRefusedWithoutAMarkerToo) {
  add_jobs(1, 3);
  std::filesystem::remove(journal_file(state_.path()));
  std::filesystem::remove(marker_file(state_.path()));
  expect_refused({"is missing", "jobs up to number 3"});
  const StateFolder other;
  opened(other.path()).reset();
  std::filesystem::copy(journal_file(other.path()), journal_file(state_.path()));
  expect_refused({"holds no job", "jobs up to number 3"});
}

TEST_F(JournalIdentityTest, AnExchangedJournalIsRefused) {
  add_jobs(1, 3);
  const StateFolder other;
  {
    const auto journal = opened(other.path());
    auto life = whole_life(1, 0.0);
    ASSERT_TRUE(journal->append(life));
  }
  std::filesystem::copy_file(journal_file(other.path()),
                             journal_file(state_.path()),
                             std::filesystem::copy_options::overwrite_existing);
  expect_refused({"is the journal", "belong to the journal", "Put the right file back"});
}

TEST_F(JournalIdentityTest, ARestoredBackupIsRefusedUntilTheLossIsAcceptedAndNumbersGoOn) {
  add_jobs(1, 5);
  ASSERT_TRUE(*back_up(state_.path()));
  const std::string identity = opened(state_.path())->identity();
  add_jobs(6, 9);
  std::filesystem::copy_file(backup_file(state_.path()),
                             journal_file(state_.path()),
                             std::filesystem::copy_options::overwrite_existing);
  expect_refused({"the events 21 to 36, which were acknowledged, are missing"});
  repair();
  const auto journal = opened(state_.path());
  EXPECT_EQ(journal->identity(), identity);
  EXPECT_EQ(*journal->last_job(), 1000) << "no number of the block is given again";
  EXPECT_EQ(journal->ended_jobs({})->size(), 5U);
  std::vector<JobEvent> next = {submitted_event(1001, 1.0)};
  ASSERT_TRUE(journal->append(next));
  EXPECT_EQ(next.front().sequence, 37) << "numbers of lost events are not used again";
}

TEST_F(JournalIdentityTest, AMissingJournalIsRestoredFromTheBackupByARepair) {
  add_jobs(1, 5);
  ASSERT_TRUE(*back_up(state_.path()));
  std::filesystem::remove(journal_file(state_.path()));
  expect_refused({"is missing", "jobs.sqlite.backup is a copy"});
  repair();
  EXPECT_EQ(opened(state_.path())->ended_jobs({})->size(), 5U);
  EXPECT_EQ(*opened(state_.path())->last_job(), 5) << "the backup was complete";
}

TEST_F(JournalIdentityTest, WithoutACopyARepairBeginsAnewAboveTheNumbersOfTheRuns) {
  add_jobs(1, 3);
  std::filesystem::remove(journal_file(state_.path()));
  std::filesystem::remove(marker_file(state_.path()));
  repair();
  const auto journal = opened(state_.path());
  EXPECT_EQ(*journal->last_job(), 1000);
  EXPECT_TRUE(journal->ended_jobs({})->empty());
}

TEST_F(JournalIdentityTest, AMarkerThatIsMissingIsWrittenAgain) {
  add_jobs(1, 3);
  std::filesystem::remove(marker_file(state_.path()));
  EXPECT_EQ(*opened(state_.path())->last_job(), 3);
  EXPECT_TRUE(std::filesystem::exists(marker_file(state_.path())));
}

TEST_F(JournalIdentityTest, ABackupIsWrittenOnlyWhenSomethingHappenedAndRotated) {
  add_jobs(1, 2);
  EXPECT_TRUE(*back_up(state_.path()));
  EXPECT_FALSE(*back_up(state_.path()));
  add_jobs(3, 3);
  EXPECT_TRUE(*back_up(state_.path()));
  EXPECT_TRUE(std::filesystem::exists(older_backup_file(state_.path())));
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(backup_file(state_.path())).permissions(),
            perms::owner_read | perms::owner_write);
  EXPECT_TRUE(back_up_to(state_.path(), state_.path() / "copy"));
  EXPECT_FALSE(back_up_to(state_.path(), state_.path() / "copy")) << "it exists";
}

}  // namespace
}  // namespace carpool::store
