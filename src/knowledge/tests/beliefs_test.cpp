#include "knowledge/beliefs.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "knowledge/tests/watched_group.hpp"

namespace carpool::knowledge {
namespace {

using fake::mine;
using fake::watch;
using Basis = ProgressForecast::Basis;

std::vector<InterferenceMember> group_of(const std::vector<std::string>& workloads) {
  std::vector<InterferenceMember> made;
  made.reserve(workloads.size());
  for (const std::string& workload : workloads) {
    made.push_back({.workload = workload});
  }
  return made;
}

std::function<double()> always(double value) {
  return [value] { return value; };
}

TEST(Beliefs, AssumeThatAnUnseenWorkloadUsesAThirdOfTheGpu) {
  const Beliefs beliefs;
  const auto pair = group_of({mine("a"), mine("b")});
  const double expected = 1.0 / (1.0 + 1.25 * 0.35 * 0.35);
  EXPECT_NEAR(beliefs.progress(pair).at(0), expected, 1e-12);
  const auto forecast = beliefs.forecast(pair).at(0);
  EXPECT_NEAR(forecast.progress, expected, 1e-12);
  EXPECT_EQ(forecast.basis, Basis::Assumed);
  EXPECT_LT(forecast.interval90.low, 0.5);
  EXPECT_GT(forecast.interval90.high, 0.95);
  EXPECT_FALSE(beliefs.knows(mine("a")));
  EXPECT_FALSE(beliefs.sm_active(mine("a")));
  EXPECT_DOUBLE_EQ(beliefs.belief(mine("a"))->assumed_sm_active, 0.35);
  EXPECT_EQ(beliefs.belief(mine("a"))->measured_s, 0.0);
  EXPECT_DOUBLE_EQ(beliefs.assumed_sm_active(mine("a")), 0.35);
}

// Unseen workloads count 0.35 each: more than three times the work of one is never expected.
TEST(Beliefs, ExpectNoMoreWorkThanTheGpuCanDo) {
  const Beliefs beliefs;
  double before = 0.0;
  for (std::size_t members = 2; members <= 12; ++members) {
    const std::vector<InterferenceMember> group(members, {.workload = "uid:1/unseen"});
    double sum = 0.0;
    for (const double share : beliefs.progress(group)) {
      sum += share;
    }
    EXPECT_LE(sum, 1.1 / 0.35 + 1e-9);
    EXPECT_GE(sum, before - 1e-9);
    before = sum;
  }
  EXPECT_NEAR(before, 1.1 / 0.35, 1e-6);
}

TEST(Beliefs, LearnTheActivityOfAWorkloadThatRunsSolo) {
  Beliefs beliefs;
  watch(beliefs, {.workloads = {mine("a")}, .for_s = 5.0, .sm_active = always(0.8)});
  const auto early = beliefs.belief(mine("a"));
  ASSERT_TRUE(early);
  EXPECT_NEAR(early->sm_active, 0.8, 0.16);
  watch(beliefs,
        {.workloads = {mine("a")}, .from_s = 5.0, .for_s = 20.0, .sm_active = always(0.8)});
  const auto later = beliefs.belief(mine("a"));
  EXPECT_NEAR(later->sm_active, 0.8, 0.03);
  EXPECT_LT(later->sm_active90.high - later->sm_active90.low, 0.16);
  EXPECT_LE(later->sm_active90.low, 0.8);
  EXPECT_GE(later->sm_active90.high, 0.8);
  EXPECT_TRUE(later->alone);
  EXPECT_GT(later->measured_s, 15.0);
  EXPECT_DOUBLE_EQ(later->assumed_sm_active, 0.35);
  EXPECT_TRUE(beliefs.knows(mine("a")));
}

TEST(Beliefs, IgnoreSamplesDuringSetUpAndSoonAfterAChange) {
  Beliefs beliefs;
  GroupSeen seen{.at_s = 10.0,
                 .computing = {{.job = 1, .workload = mine("a"), .computed_s = 1.0}},
                 .unchanged_s = 10.0,
                 .sm_active = 0.9};
  beliefs.saw(seen);
  seen.at_s = 11.0;
  seen.computing[0].computed_s = 30.0;
  seen.unchanged_s = 1.0;
  beliefs.saw(seen);
  EXPECT_EQ(beliefs.belief(mine("a"))->measured_s, 0.0);
  EXPECT_DOUBLE_EQ(beliefs.belief(mine("a"))->sm_active, 0.35);
  seen.at_s = 12.0;
  seen.unchanged_s = 2.0;
  beliefs.saw(seen);
  EXPECT_GT(beliefs.belief(mine("a"))->sm_active, 0.5);
}

// A program that appears on the GPU may load a model for a while before it computes.
TEST(Beliefs, DoNotTakeSetUpForALightWorkload) {
  Beliefs beliefs;
  watch(beliefs, {.workloads = {mine("a")}, .for_s = 14.0, .sm_active = always(0.01)});
  EXPECT_DOUBLE_EQ(beliefs.belief(mine("a"))->sm_active, 0.35);
  watch(beliefs,
        {.workloads = {mine("a"), mine("b")},
         .from_s = 100.0,
         .for_s = 14.0,
         .sm_active = always(0.05)});
  EXPECT_DOUBLE_EQ(beliefs.belief(mine("a"))->sm_active, 0.35);
  // After a while it is what it seems.
  watch(beliefs,
        {.workloads = {mine("a")}, .from_s = 200.0, .for_s = 90.0, .sm_active = always(0.01)});
  EXPECT_LT(beliefs.belief(mine("a"))->sm_active, 0.1);
}

TEST(Beliefs, LearnTheActivityOfMembersFromTheirSum) {
  Beliefs beliefs;
  double now_s = watch(beliefs, {.workloads = {mine("small")}, .sm_active = always(0.1)});
  // Beside it, a workload of activity 0.3: hardly any interference.
  watch(beliefs,
        {.workloads = {mine("small"), mine("other")},
         .from_s = now_s,
         .for_s = 40.0,
         .sm_active = always(0.38)});
  EXPECT_NEAR(beliefs.belief(mine("other"))->sm_active, 0.30, 0.04);
  EXPECT_NEAR(beliefs.belief(mine("small"))->sm_active, 0.10, 0.03);
  EXPECT_FALSE(beliefs.belief(mine("other"))->alone);
}

TEST(Beliefs, RememberTheSpeedsOfAGroup) {
  Beliefs beliefs;
  double now_s = 0.0;
  for (const char* name : {"a", "b"}) {
    now_s = watch(beliefs,
                  {.workloads = {mine(name)},
                   .from_s = now_s,
                   .sm_active = always(0.5),
                   .rate = [](std::size_t) { return 40.0; }});
  }
  const auto pair = group_of({mine("a"), mine("b")});
  EXPECT_EQ(beliefs.forecast(pair).at(0).basis, Basis::Members);
  now_s = watch(beliefs,
                {.workloads = {mine("a"), mine("b")}, .from_s = now_s, .rate = [](std::size_t i) {
                   return i == 0 ? 8.0 : 38.0;
                 }});
  const auto measured = beliefs.forecast(pair);
  EXPECT_EQ(measured.at(0).basis, Basis::Measured);
  EXPECT_NEAR(measured.at(0).progress, 0.20, 0.005);
  EXPECT_NEAR(measured.at(1).progress, 0.95, 0.02);
  EXPECT_LT(measured.at(0).interval90.high, 0.25);
  const auto turned = beliefs.progress(group_of({mine("b"), mine("a")}));
  EXPECT_NEAR(turned.at(0), 0.95, 0.02);
  EXPECT_NEAR(turned.at(1), 0.20, 0.005);
  // What the pair taught also holds for groups that it is a part of.
  const auto three = beliefs.forecast(group_of({mine("a"), mine("b"), mine("c")}));
  EXPECT_EQ(three.at(0).basis, Basis::Members);
  EXPECT_LT(three.at(0).progress, 0.45);
  ASSERT_EQ(beliefs.rows().size(), 2U);
  ASSERT_EQ(beliefs.rows().at(0).beside.size(), 1U);
  EXPECT_EQ(beliefs.rows().at(0).beside.at(0).workload, mine("b"));
  EXPECT_NEAR(beliefs.rows().at(0).beside.at(0).forecast.progress, 0.20, 0.005);
  EXPECT_NEAR(*beliefs.rows().at(0).belief.solo_rate, 40.0, 1.0);
}

TEST(Beliefs, LearnFromTheSpeedBeforeAndAfterANeighbourCame) {
  Beliefs beliefs;
  // Never solo: three members, then a fourth that halves the speed of the first.
  double now_s = watch(
      beliefs, {.workloads = {mine("a"), mine("b")}, .rate = [](std::size_t) { return 10.0; }});
  const auto larger = group_of({mine("a"), mine("b"), mine("bad")});
  const double before = beliefs.progress(larger).at(0);
  watch(beliefs,
        {.workloads = {mine("a"), mine("b"), mine("bad")},
         .from_s = now_s,
         .rate = [](std::size_t i) { return i == 0 ? 4.0 : 9.5; }});
  EXPECT_LT(beliefs.progress(larger).at(0), before - 0.1);
  EXPECT_LT(beliefs.progress(larger).at(0), beliefs.progress(larger).at(1) - 0.1);
}

TEST(Beliefs, IgnoreSpeedsOverATimeInWhichTheGroupChanged) {
  Beliefs beliefs;
  double now_s =
      watch(beliefs, {.workloads = {mine("a")}, .rate = [](std::size_t) { return 10.0; }});
  const auto pair = group_of({mine("a"), mine("b")});
  const auto before = beliefs.progress(pair);
  watch(beliefs,
        {.workloads = {mine("a"), mine("b")},
         .from_s = now_s,
         .for_s = 9.0,
         .rate = [](std::size_t) { return 1.0; },
         .window_s = 10.0});
  EXPECT_EQ(beliefs.progress(pair), before);
}

TEST(Beliefs, IgnoreSpeedsWhileANeighbourSetsUp) {
  Beliefs beliefs;
  GroupSeen seen{.at_s = 100.0,
                 .computing = {{.job = 1,
                                .workload = mine("a"),
                                .computed_s = 60.0,
                                .rate = MeasuredRate{.per_s = 5.0, .over_s = 2.0}},
                               {.job = 2, .workload = mine("b"), .computed_s = 2.5}},
                 .unchanged_s = 50.0};
  beliefs.saw(seen);
  EXPECT_FALSE(beliefs.belief(mine("a"))->solo_rate);
  seen.at_s = 101.0;
  seen.computing[1].computed_s = 3.5;
  beliefs.saw(seen);
  EXPECT_TRUE(beliefs.belief(mine("a"))->solo_rate);
}

TEST(Beliefs, LearnNothingFromJobsOfSeveralUsersOrForeignProcesses) {
  Beliefs beliefs;
  const std::string other = scoped_workload(2000, "b");
  watch(beliefs, {.workloads = {mine("a"), other}, .sm_active = always(0.9)});
  watch(beliefs, {.workloads = {mine("a")}, .sm_active = always(0.9), .foreign = true});
  EXPECT_TRUE(beliefs.rows().empty());
}

TEST(Beliefs, AreNotMovedByJobsOfAnotherUser) {
  Beliefs beliefs;
  const auto solo = [&](const std::string& name, double from_s) {
    return watch(
        beliefs,
        {.workloads = {name}, .from_s = from_s, .sm_active = always(0.6), .rate = [](std::size_t) {
           return 40.0;
         }});
  };
  double now_s = solo(mine("a"), 0.0);
  const auto pair = group_of({mine("a"), mine("never seen")});
  const auto before = beliefs.progress(pair);
  const auto belief = *beliefs.belief(mine("a"));
  const std::string theirs = scoped_workload(2000, "a");
  const std::string too = scoped_workload(2000, "b");
  now_s = solo(theirs, now_s);
  now_s = solo(too, now_s);
  watch(beliefs,
        {.workloads = {theirs, too}, .from_s = now_s, .rate = [](std::size_t) { return 3.0; }});
  EXPECT_LT(beliefs.progress(group_of({theirs, scoped_workload(2000, "never seen")})).at(1),
            before.at(1));  // the other user's contention was learned
  EXPECT_EQ(beliefs.progress(pair), before);
  EXPECT_EQ(beliefs.belief(mine("a"))->sm_active, belief.sm_active);
}

TEST(Beliefs, IgnoreAbsurdInput) {
  Beliefs beliefs;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  watch(beliefs, {.workloads = {mine("a")}, .sm_active = always(0.6), .rate = [](std::size_t) {
                    return 40.0;
                  }});
  const auto pair = group_of({mine("a"), mine("a")});
  const auto before = beliefs.forecast(pair);
  for (const double value : {nan, infinite, -infinite, -1.0, 1e300}) {
    watch(beliefs,
          {.workloads = {mine("a")},
           .from_s = 40.0,
           .sm_active = always(value),
           .rate = [value](std::size_t) { return value; }});
    GroupSeen seen{.at_s = value, .computing = {{.job = 9, .workload = mine("a")}}};
    seen.sm_active = 0.1;
    beliefs.saw(seen);
    seen.at_s = 41.0;
    seen.unchanged_s = nan;
    beliefs.saw(seen);
    seen.unchanged_s = 50.0;
    seen.computing[0].computed_s = nan;
    beliefs.saw(seen);
    beliefs.ended({.at_s = 41.0, .workload = mine("a"), .ran_s = value, .starting_s = value});
    beliefs.ended({.at_s = 41.0, .workload = mine("a"), .ran_s = 10.0, .progress = value});
  }
  beliefs.ended({.at_s = 41.0, .workload = mine("a"), .ran_s = 0.0});
  EXPECT_EQ(beliefs.forecast(pair).at(0).progress, before.at(0).progress);
  EXPECT_EQ(beliefs.rows().at(0).runs, 0U);
  EXPECT_FALSE(beliefs.rows().at(0).runtime_s);
  EXPECT_FALSE(beliefs.rows().at(0).startup_s);
}

TEST(Beliefs, ShowRunTimesAndPeaks) {
  Beliefs beliefs;
  beliefs.ended({.at_s = 5.0,
                 .workload = mine("a"),
                 .ran_s = 100.0,
                 .starting_s = 8.0,
                 .progress = 0.5,
                 .peak_bytes = 7});
  beliefs.ended({.at_s = 6.0, .workload = mine("a"), .ran_s = 70.0, .peak_bytes = 5});
  beliefs.ended({.at_s = 7.0, .workload = mine("a"), .end = RunEnd::Failed, .ran_s = 1.0});
  const auto rows = beliefs.rows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_DOUBLE_EQ(*rows[0].runtime_s, 60.0);
  EXPECT_DOUBLE_EQ(*rows[0].startup_s, 8.0);
  EXPECT_EQ(*rows[0].peak_bytes, 7U);
  EXPECT_EQ(rows[0].runs, 2U);
  EXPECT_DOUBLE_EQ(rows[0].seen_at_s, 6.0);
}

TEST(Beliefs, TellTheProcessesOfTheLastRunThatWasSeen) {
  Beliefs beliefs;
  EXPECT_EQ(beliefs.belief(mine("a"))->processes, 1U);
  beliefs.ended(
      {.at_s = 5.0, .workload = mine("a"), .ran_s = 9.0, .peak_bytes = 7, .processes = 4});
  beliefs.ended({.at_s = 6.0, .workload = mine("a"), .ran_s = 9.0});  // never seen on a GPU
  EXPECT_EQ(beliefs.belief(mine("a"))->processes, 4U);
  beliefs.ended(
      {.at_s = 7.0, .workload = mine("a"), .ran_s = 9.0, .peak_bytes = 7, .processes = 2});
  EXPECT_EQ(beliefs.belief(mine("a"))->processes, 2U);
}

TEST(Beliefs, ForgetTheLeastRecentlySeenWorkloads) {
  Beliefs beliefs({.most_workloads = 30, .most_workloads_per_user = 20});
  for (unsigned i = 0; i < 50; ++i) {
    beliefs.ended({.at_s = 1.0 + i, .workload = mine("w" + std::to_string(i)), .ran_s = 9.0});
    beliefs.ended({.at_s = 1.5 + i,
                   .workload = scoped_workload(2000, "w" + std::to_string(i % 15)),
                   .ran_s = 9.0});
  }
  EXPECT_LE(beliefs.rows().size(), 30U);
  EXPECT_TRUE(std::ranges::any_of(beliefs.rows(),
                                  [](const auto& row) { return row.workload == mine("w49"); }));
  EXPECT_FALSE(std::ranges::any_of(beliefs.rows(),
                                   [](const auto& row) { return row.workload == mine("w0"); }));
}

}  // namespace
}  // namespace carpool::knowledge
