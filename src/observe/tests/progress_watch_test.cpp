#include "observe/progress_watch.hpp"

#include <gtest/gtest.h>

#include "observe/tests/watched_files.hpp"

namespace carpool::observe {
namespace {

namespace format = gpu::window_format;
using ProgressWatchTest = fake::WatchedFiles;

TEST_F(ProgressWatchTest, TheRateOfAWindowIsThatOfAllProcesses) {
  EXPECT_TRUE(look_for(6, {7}).empty());
  EXPECT_EQ(ordered(7), 1U);
  EXPECT_EQ(ordered(8), 0U);  // not on a GPU
  answer(7, format::State::Open, 0);
  answer(7, format::State::Done, 4000, 1);
  EXPECT_TRUE(look({7}).empty());
  answer(7, format::State::Done, 2000);
  const auto rates = look({7});
  ASSERT_TRUE(rates.contains(7));
  EXPECT_DOUBLE_EQ(rates.at(7).per_s, 3000.0);
  EXPECT_DOUBLE_EQ(rates.at(7).over_s, 2.0);
  EXPECT_EQ(rates.at(7).source, ProgressSource::Launches);
  EXPECT_TRUE(look_for(20, {7}).empty());  // told once
}

TEST_F(ProgressWatchTest, AWindowInWhichTheGroupChangedGivesNoRate) {
  (void)look_for(6, {7});
  EXPECT_TRUE(look({7, 8}).empty());
  answer(7, format::State::Done, 2000);
  EXPECT_TRUE(look({7, 8}).empty());
  (void)look_for(5, {7, 8});
  EXPECT_EQ(ordered(7), 2U);
  EXPECT_EQ(ordered(8), 1U);
}

TEST_F(ProgressWatchTest, RefusedSpoiledAndNearlyEmptyWindowsGiveNoRate) {
  (void)look_for(6, {7, 8});
  answer(7, format::State::Busy, 0);
  answer(8, format::State::Spoiled, 900);
  EXPECT_TRUE(look_for(3, {7, 8}).empty());
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0], "7: another profiler uses CUPTI in its process");
  (void)look_for(60, {7, 8});
  answer(7, format::State::Busy, 0);
  answer(8, format::State::Done, 3);
  EXPECT_TRUE(look_for(3, {7, 8}).empty());
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(ProgressWatchTest, AJobThatLaunchedOftenAndHardlyDoesIsMeasured) {
  (void)look_for(6, {7});
  answer(7, format::State::Done, 4000);
  EXPECT_DOUBLE_EQ(look({7}).at(7).per_s, 2000.0);
  (void)look_for(6, {7, 8});
  EXPECT_EQ(ordered(7), 2U);
  answer(7, format::State::Done, 3);
  answer(8, format::State::Done, 3);  // how often it launches is not known
  const auto rates = look({7, 8});
  EXPECT_FALSE(rates.contains(8));
  ASSERT_TRUE(rates.contains(7));
  EXPECT_DOUBLE_EQ(rates.at(7).per_s, 1.5);
}

TEST_F(ProgressWatchTest, AJobThatReportsStepsIsNotCountedByItsLaunches) {
  double steps = 0.0;
  jobs_[0].counters = [&] {
    return std::vector<ProgressCounter>{
        {ProgressSource::Steps, [&](double now_s) -> std::optional<CountSeen> {
           steps += 10.0;
           return CountSeen{.count = steps, .at_s = now_s};
         }}};
  };
  const auto rates = look_for(12, {7, 8});
  ASSERT_TRUE(rates.contains(7));
  EXPECT_EQ(rates.at(7).source, ProgressSource::Steps);
  EXPECT_NEAR(rates.at(7).per_s, 10.0, 1e-6);
  EXPECT_EQ(ordered(7), 0U);
  EXPECT_EQ(ordered(8), 1U);
}

TEST_F(ProgressWatchTest, LaunchesThatTheJobsLibraryCountsNeedNoWindow) {
  double launches = 0.0;
  jobs_[0].window_file.clear();
  jobs_[0].counters = [&] {
    return std::vector<ProgressCounter>{
        {ProgressSource::Launches, [&](double now_s) -> std::optional<CountSeen> {
           launches += now_s < 1003.0 ? 5000.0 : 100.0;  // it sets up
           return CountSeen{.count = launches, .at_s = now_s};
         }}};
  };
  const auto rates = look_for(14, {7});
  ASSERT_TRUE(rates.contains(7));
  EXPECT_EQ(rates.at(7).source, ProgressSource::Launches);
  EXPECT_NEAR(rates.at(7).per_s, 100.0, 1e-6);
}

TEST_F(ProgressWatchTest, APausedJobDoesNotCompute) {
  jobs_[0].paused = true;
  (void)look_for(10, {7, 8});
  EXPECT_EQ(ordered(7), 0U);
  EXPECT_EQ(ordered(8), 1U);
}

TEST_F(ProgressWatchTest, AFileThatTheUserCutsIsToldAndHarmless) {
  std::filesystem::resize_file(file_of(7), 3);
  EXPECT_TRUE(look_for(10, {7}).empty());
  EXPECT_EQ(told_.size(), 1U);
}

TEST(ProgressRate, SpansNoChangeOfTheGroup) {
  ProgressRate rate(ProgressSource::Steps);
  EXPECT_FALSE(rate.add({.count = 1.0, .at_s = 1.0}));
  EXPECT_FALSE(rate.add({.count = 4.0, .at_s = 4.0}));
  rate.restart(5.0);
  EXPECT_FALSE(rate.add({.count = 5.0, .at_s = 4.9}));
  EXPECT_FALSE(rate.add({.count = 6.0, .at_s = 6.0}));
  EXPECT_FALSE(rate.add({.count = 8.0, .at_s = 8.0}));
  const auto measured = rate.add({.count = 16.0, .at_s = 11.0});
  ASSERT_TRUE(measured);
  EXPECT_DOUBLE_EQ(measured->per_s, 2.0);
  EXPECT_DOUBLE_EQ(measured->over_s, 5.0);
}

TEST(ProgressRate, FewLaunchesTellNoRate) {
  ProgressRate rate(ProgressSource::Launches);
  EXPECT_FALSE(rate.add({.count = 100.0, .at_s = 0.0}));
  EXPECT_FALSE(rate.add({.count = 110.0, .at_s = 5.0}));
  const auto measured = rate.add({.count = 120.0, .at_s = 10.0});
  ASSERT_TRUE(measured);
  EXPECT_DOUBLE_EQ(measured->per_s, 2.0);
}

TEST(ProgressRate, WaitsForSlowSteps) {
  ProgressRate rate(ProgressSource::Output);
  EXPECT_FALSE(rate.add({.count = 1.0, .at_s = 0.0}));
  EXPECT_FALSE(rate.add({.count = 2.0, .at_s = 15.0}));
  const auto measured = rate.add({.count = 3.0, .at_s = 30.0});
  ASSERT_TRUE(measured);
  EXPECT_DOUBLE_EQ(measured->per_s, 2.0 / 30.0);
  EXPECT_FALSE(rate.add({.count = 1.0, .at_s = 60.0}));  // the count began anew
}

}  // namespace
}  // namespace carpool::observe
