#include "app/server/state_disk.hpp"

#include <gtest/gtest.h>

#include "app/tests/fixtures.hpp"

namespace carpool::app {
namespace {

constexpr std::uint64_t kMebi = std::uint64_t{1} << 20U;

class StateDiskTest : public testing::Test {
 protected:
  void look(std::uint64_t free_mib, std::uint64_t total_mib = 10'000) {
    now_ = {.total_bytes = total_mib * kMebi, .free_bytes = free_mib * kMebi};
    disk_.look();
  }
  [[nodiscard]] bool reserve() const { return std::filesystem::exists(folder_.path() / "reserve"); }

  TemporaryFolder folder_;
  DiskSpace now_{};
  StateDisk disk_{folder_.path(), [this] { return std::optional(now_); }};
};

TEST_F(StateDiskTest, LetsJobsStartWhileThereIsSpaceAndKeepsAReserve) {
  look(5'000);
  EXPECT_EQ(disk_.why_closed(), "");
  ASSERT_TRUE(reserve());
  EXPECT_EQ(std::filesystem::file_size(folder_.path() / "reserve"), StateDisk::kReserve);
}

TEST_F(StateDiskTest, AFullDiskStartsNothingUntilThereIsEnoughSpaceAgain) {
  look(5'000);
  look(100);
  EXPECT_NE(disk_.why_closed().find("100 MiB are free"), std::string::npos) << disk_.why_closed();
  EXPECT_NE(disk_.why_closed().find("carpool prune --older-than"), std::string::npos);
  EXPECT_TRUE(reserve()) << "there is still space for the journal";
  look(140);
  EXPECT_NE(disk_.why_closed(), "") << "a disk at the edge does not open and close";
  look(200);
  EXPECT_EQ(disk_.why_closed(), "");
}

TEST_F(StateDiskTest, TheJournalGetsTheReserveWhenNothingIsLeft) {
  look(5'000);
  look(3);
  EXPECT_FALSE(reserve());
  look(100);
  EXPECT_FALSE(reserve()) << "not while space is scarce";
  look(5'000);
  EXPECT_TRUE(reserve());
}

TEST_F(StateDiskTest, AFileSystemThatDoesNotAnswerChangesNothing) {
  StateDisk silent(folder_.path(), [] { return std::nullopt; });
  silent.look();
  EXPECT_EQ(silent.why_closed(), "");
  EXPECT_TRUE(space_of(folder_.path()));
  EXPECT_FALSE(space_of(folder_.path() / "absent"));
}

}  // namespace
}  // namespace carpool::app
