#include "base/server_clock.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "base/tests/temporary_folder.hpp"

namespace carpool {
namespace {

constexpr double kHour = 3600.0;

class ServerClockTest : public testing::Test {
 public:
  [[nodiscard]] ClockReadings readings() {
    return {.wall = [this] { return wall_s_; }, .boot = [this] { return boot_s_; }, .boot_id = id_};
  }
  [[nodiscard]] ServerClock open() { return ServerClock::kept_in(file(), readings()); }
  [[nodiscard]] std::filesystem::path file() const { return folder_ / "clock"; }
  void pass(double seconds) {
    wall_s_ += seconds;
    boot_s_ += seconds;
  }
  // The machine starts again.
  void boot() {
    id_ += "x";
    boot_s_ = 10.0;
  }

  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
  double wall_s_ = 1'000'000.0;
  double boot_s_ = 500.0;
  std::string id_ = "first";
};

TEST_F(ServerClockTest, BeginsWithTheWallClockAndRunsOnWhenThatIsSet) {
  const ServerClock clock = open();
  EXPECT_DOUBLE_EQ(clock.now_s(), 1'000'000.0);
  pass(5.0);
  wall_s_ += 2 * kHour;
  EXPECT_DOUBLE_EQ(clock.now_s(), 1'000'005.0);
  wall_s_ -= 9 * kHour;
  pass(5.0);
  EXPECT_DOUBLE_EQ(clock.now_s(), 1'000'010.0);
}

TEST_F(ServerClockTest, IsContinuedByTheNextServerOfTheSameBoot) {
  EXPECT_DOUBLE_EQ(open().now_s(), 1'000'000.0);
  wall_s_ -= 2 * kHour;
  pass(30.0);
  EXPECT_DOUBLE_EQ(open().now_s(), 1'000'030.0);
  wall_s_ += 7 * kHour;
  EXPECT_DOUBLE_EQ(open().now_s(), 1'000'030.0);
}

TEST_F(ServerClockTest, BeginsAgainAfterABootAndNeverBeforeTheLastEvent) {
  (void)open();
  pass(100.0);
  boot();
  ServerClock clock = open();
  EXPECT_DOUBLE_EQ(clock.now_s(), wall_s_);
  const double last_s = wall_s_ + kHour;  // the wall clock was wrong when it was written
  clock.not_before(last_s);
  EXPECT_DOUBLE_EQ(clock.now_s(), last_s);
  clock.not_before(last_s - 10.0);
  EXPECT_DOUBLE_EQ(clock.now_s(), last_s);
  pass(1.0);
  EXPECT_DOUBLE_EQ(open().now_s(), last_s + 1.0);
}

TEST_F(ServerClockTest, ShowsTimesOfThisBootAsTheWallClockDoesNow) {
  ServerClock clock = open();
  EXPECT_DOUBLE_EQ(clock.shown()(1'000'000.0), 1'000'000.0);
  pass(60.0);
  wall_s_ += 2 * kHour;
  const ShownTime shown = clock.shown();
  EXPECT_DOUBLE_EQ(shown(clock.now_s()), wall_s_);
  EXPECT_DOUBLE_EQ(shown(1'000'000.0), 1'000'000.0 + 2 * kHour);
  EXPECT_DOUBLE_EQ(shown(999'999.0), 999'999.0);  // of an earlier boot
  EXPECT_DOUBLE_EQ(open().shown()(1'000'000.0), 1'000'000.0 + 2 * kHour);
}

TEST_F(ServerClockTest, DoesNotShiftShownTimesByTheDifferenceOfTwoReadings) {
  const ServerClock clock = open();
  wall_s_ += 0.01;
  EXPECT_DOUBLE_EQ(clock.shown()(clock.now_s()), 1'000'000.0);
}

TEST_F(ServerClockTest, DamagedFileIsReplaced) {
  for (const char* text : {"", "first", "first 1 2", "first nan 0 0", "first a b c"}) {
    ASSERT_TRUE(write_file(file(), text));
    EXPECT_DOUBLE_EQ(open().now_s(), wall_s_) << text;
    pass(1.0);
    wall_s_ += 50.0;
    EXPECT_DOUBLE_EQ(open().now_s(), wall_s_ - 50.0) << text;
  }
}

TEST_F(ServerClockTest, FileThatCannotBeWrittenDoesNotStopTheServer) {
  const ServerClock clock = ServerClock::kept_in(folder_ / "missing" / "clock", readings());
  EXPECT_DOUBLE_EQ(clock.now_s(), wall_s_);
}

TEST_F(ServerClockTest, FastClockRunsWithTheTimeSinceBootToo) {
  ServerClock clock = ServerClock::unkept(60.0, readings());
  pass(2.0);
  wall_s_ -= kHour;
  EXPECT_DOUBLE_EQ(clock.now_s(), 1'000'120.0);
  clock.not_before(2'000'000.0);
  pass(1.0);
  EXPECT_DOUBLE_EQ(clock.now_s(), 2'000'060.0);
  EXPECT_DOUBLE_EQ(clock.shown()(clock.now_s()), clock.now_s());
}

TEST(MachineReadings, AreThoseOfThisMachine) {
  const ClockReadings readings = machine_readings();
  EXPECT_FALSE(readings.boot_id.empty());
  EXPECT_GE(readings.boot(), 0.0);
  EXPECT_LT(readings.boot(), readings.wall());
}

}  // namespace
}  // namespace carpool
