// What the kernels of a workload tell of its SM activity.
#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "knowledge/beliefs.hpp"
#include "knowledge/tests/watched_group.hpp"

namespace carpool::knowledge {
namespace {

using fake::mine;
using fake::watch;

KernelWindow window(double busy, double fill) {
  return {.over_s = 3.0,
          .kernels = 1000,
          .busy = busy,
          .active = busy * fill,
          .fill = fill,
          .launches_per_s = 500.0};
}

GroupSeen seen_at(double at_s, const std::vector<std::string>& workloads) {
  GroupSeen seen{.at_s = at_s, .unchanged_s = 12.0};
  JobId job = 1;
  for (const std::string& workload : workloads) {
    seen.computing.push_back({.job = job++, .workload = workload, .computed_s = 12.0});
  }
  return seen;
}

TEST(WindowLearning, TakesThePlaceOfWhatIsAssumed) {
  Beliefs beliefs;
  GroupSeen seen = seen_at(20.0, {mine("a")});
  seen.computing[0].window = window(0.8, 0.25);
  beliefs.saw(seen);
  const auto belief = beliefs.belief(mine("a"));
  ASSERT_TRUE(belief && belief->window);
  EXPECT_DOUBLE_EQ(belief->sm_active, 0.2);
  EXPECT_DOUBLE_EQ(belief->assumed_sm_active, 0.35);
  EXPECT_DOUBLE_EQ(belief->window->sm_active, 0.2);
  EXPECT_DOUBLE_EQ(belief->window->over_s, 3.0);
  EXPECT_TRUE(belief->window->alone);
  EXPECT_EQ(belief->measured_s, 0.0);
  EXPECT_TRUE(beliefs.knows(mine("a")));
  // Surer than an assumption, and far from sure.
  EXPECT_NEAR(belief->sm_active90.high, 0.2 + 1.6449 * 0.15, 1e-6);
  // The window of another job of the workload is not asked for, and not used.
  seen.at_s = 30.0;
  seen.computing[0].window = window(1.0, 1.0);
  beliefs.saw(seen);
  EXPECT_DOUBLE_EQ(beliefs.belief(mine("a"))->window->sm_active, 0.2);
}

TEST(WindowLearning, TheCounterOutweighsItBeforeAndAfter) {
  for (const bool first : {true, false}) {
    Beliefs beliefs;
    const auto counter = [&](double from_s) {
      return watch(beliefs,
                   {.workloads = {mine("a")}, .from_s = from_s, .for_s = 20.0, .sm_active = [] {
                      return 0.6;
                    }});
    };
    const double now_s = first ? 100.0 : counter(100.0);
    GroupSeen seen = seen_at(now_s, {mine("a")});
    seen.computing[0].window = window(0.5, 0.4);
    beliefs.saw(seen);
    if (first) {
      (void)counter(now_s);
    }
    EXPECT_NEAR(beliefs.belief(mine("a"))->sm_active, 0.6, 0.04) << first;
  }
}

// The result does not depend on the assumption that it replaces.
TEST(WindowLearning, NothingIsLeftOfTheAssumption) {
  std::vector<double> believed;
  for (const double assumed : {0.35, 0.9}) {
    Beliefs beliefs({.prior_activity = assumed});
    GroupSeen seen = seen_at(20.0, {mine("a")});
    seen.sm_active = 0.5;
    beliefs.saw(seen);
    seen.at_s = 24.0;
    seen.sm_active.reset();
    seen.computing[0].window = window(0.5, 0.4);
    beliefs.saw(seen);
    believed.push_back(beliefs.belief(mine("a"))->sm_active);
  }
  EXPECT_NEAR(believed[0], believed[1], 1e-4);
  EXPECT_GT(believed[0], 0.2);
  EXPECT_LT(believed[0], 0.5);
}

TEST(WindowLearning, BesideOthersBusyTimeIsCorrectedByTheLaunchRate) {
  Beliefs beliefs;
  // Solo 1000 launches a second; beside another 500: half its speed.
  GroupSeen solo = seen_at(20.0, {mine("a")});
  solo.computing[0].rate =
      MeasuredRate{.per_s = 1000.0, .over_s = 2.0, .source = ProgressSource::Launches};
  beliefs.saw(solo);
  GroupSeen both = seen_at(40.0, {mine("a"), mine("b")});
  both.computing[0].window = window(0.8, 0.5);  // at 500 launches a second
  beliefs.saw(both);
  const auto belief = beliefs.belief(mine("a"));
  ASSERT_TRUE(belief && belief->window);
  EXPECT_FALSE(belief->window->alone);
  // Between 1 - 0.2 / 0.5 = 0.6, if neighbours stretch its kernels, and min(1, 0.8 / 0.5) = 1.
  EXPECT_NEAR(belief->window->sm_active, 0.5 * 0.8, 1e-9);
  EXPECT_GT(belief->sm_active90.high - belief->sm_active90.low, 2 * 1.6449 * 0.15);
}

TEST(WindowLearning, BesideOthersWithoutASoloRateThePredictedProgressCounts) {
  Beliefs beliefs;
  GroupSeen both = seen_at(40.0, {mine("a"), mine("b")});
  both.computing[0].window = window(0.5, 0.4);
  const double progress = beliefs.progress(
      std::vector<InterferenceMember>{{.workload = mine("a")}, {.workload = mine("b")}})[0];
  beliefs.saw(both);
  const double low = 1.0 - 0.5 / progress;
  const double high = 0.5 / progress;
  EXPECT_NEAR(beliefs.belief(mine("a"))->window->sm_active, 0.4 * (low + high) / 2.0, 1e-9);
  EXPECT_FALSE(beliefs.belief(mine("b"))->window);
}

TEST(WindowLearning, WhatCannotBeIsNotUsed) {
  for (const KernelWindow& bad : {window(0.0, 0.5),
                                  window(1.2, 0.5),
                                  window(0.5, 0.0),
                                  KernelWindow{.over_s = 60.0, .busy = 0.5, .active = 0.5}}) {
    Beliefs beliefs;
    GroupSeen seen = seen_at(20.0, {mine("a")});
    seen.computing[0].window = bad;
    beliefs.saw(seen);
    EXPECT_FALSE(beliefs.belief(mine("a"))->window);
  }
  Beliefs beliefs;
  GroupSeen seen = seen_at(20.0, {mine("a")});
  seen.computing[0].window = window(0.5, 0.5);
  seen.foreign = true;  // processes of others compute there
  beliefs.saw(seen);
  EXPECT_FALSE(beliefs.belief(mine("a"))->window);
}

TEST(WindowLearning, IsKeptInTheFileAndAskedForAgainAfterAChangeOfDriver) {
  std::string folder = (std::filesystem::temp_directory_path() / "carpool-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::filesystem::path file = std::filesystem::path(folder) / "knowledge.json";
  Beliefs beliefs({.driver = "H200 580"});
  GroupSeen seen = seen_at(20.0, {mine("a")});
  seen.computing[0].window = window(0.8, 0.25);
  beliefs.saw(seen);
  ASSERT_TRUE(beliefs.save(file));
  const auto same = Beliefs::open(file, {.driver = "H200 580"});
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ((*same)->belief(mine("a"))->window, beliefs.belief(mine("a"))->window);
  const auto other = Beliefs::open(file, {.driver = "H200 590"});
  ASSERT_TRUE(other);
  EXPECT_FALSE((*other)->belief(mine("a"))->window);
  std::string text = *read_file(file);
  text.replace(text.find("3.0,true"), 8, "-3.0,true");
  ASSERT_TRUE(write_file(file, text));
  EXPECT_FALSE(Beliefs::open(file, {}).has_value());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace carpool::knowledge
