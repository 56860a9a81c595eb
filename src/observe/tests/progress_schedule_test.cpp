#include "observe/progress_schedule.hpp"

#include <map>

#include <gtest/gtest.h>

namespace carpool::observe {
namespace {

using Groups = std::vector<ComputingGroup>;
using Jobs = std::set<JobId>;

// Reads each second; keeps when windows opened.
class Clock {
 public:
  void run(double seconds, const Groups& groups) {
    for (const double end = now_s_ + seconds; now_s_ < end; now_s_ += 1.0) {
      const Jobs due = schedule.due(now_s_, groups);
      if (!due.empty()) {
        opened[now_s_] = due;
      }
    }
  }
  ProgressSchedule schedule;
  std::map<double, Jobs> opened;

 private:
  double now_s_ = 100.0;
};

TEST(ProgressSchedule, OpensAWindowFiveSecondsAfterAJobBeginsTenSecondsLaterAndThenEveryMinute) {
  Clock clock;
  clock.run(3, {});
  clock.run(130, {{0, {7}}});
  const std::map<double, Jobs> expected{{108.0, {7}}, {118.0, {7}}, {178.0, {7}}};
  EXPECT_EQ(clock.opened, expected);
}

TEST(ProgressSchedule, CountsAllMembersOfAGpuTogetherAfterEachChange) {
  Clock clock;
  clock.run(20, {{0, {7}}});
  clock.run(20, {{0, {7, 8}}});  // a newcomer
  clock.run(20, {{0, {8}}});     // one ended
  const std::map<double, Jobs> expected{
      {105.0, {7}}, {115.0, {7}}, {125.0, {7, 8}}, {135.0, {7, 8}}, {143.0, {8}}};
  EXPECT_EQ(clock.opened, expected);
}

TEST(ProgressSchedule, WaitsUntilAGroupStandsStill) {
  Clock clock;
  clock.run(20, {{0, {7}}});
  clock.run(2, {{0, {7, 8}}});
  clock.run(2, {{0, {7}}});
  clock.run(10, {{0, {7, 8}}});
  const std::map<double, Jobs> expected{{105.0, {7}}, {115.0, {7}}, {129.0, {7, 8}}};
  EXPECT_EQ(clock.opened, expected);
}

TEST(ProgressSchedule, NeverOpensTwoWindowsOfAJobWithinFiveSeconds) {
  Clock clock;
  clock.run(6, {{0, {7, 8}}});
  clock.run(20, {{0, {7}}});  // 106: three seconds later is too early after 105
  const std::map<double, Jobs> expected{{105.0, {7, 8}}, {110.0, {7}}};
  EXPECT_EQ(clock.opened, expected);
}

TEST(ProgressSchedule, GpusDoNotDisturbEachOther) {
  Clock clock;
  clock.run(20, {{0, {7}}, {1, {}}});
  clock.run(10, {{0, {7}}, {1, {8}}});
  const std::map<double, Jobs> expected{{105.0, {7}}, {115.0, {7}}, {125.0, {8}}};
  EXPECT_EQ(clock.opened, expected);
}

TEST(ProgressSchedule, TellsWhenTheGroupOfAJobChanged) {
  ProgressSchedule schedule;
  (void)schedule.due(1.0, Groups{{0, {7}}, {1, {7, 9}}});
  (void)schedule.due(4.0, Groups{{0, {7, 8}}, {1, {7, 9}}});
  EXPECT_EQ(schedule.changed_s(7), 4.0);
  EXPECT_EQ(schedule.changed_s(9), 1.0);
  EXPECT_EQ(schedule.changed_s(1), std::nullopt);
}

}  // namespace
}  // namespace carpool::observe
