#include "measure/cells.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace carpool::measure {
namespace {

Plan plan_of(std::size_t workloads) {
  Plan plan;
  plan.name = "p";
  plan.seed = 3;
  for (std::size_t i = 0; i < workloads; ++i) {
    PlannedWorkload workload;
    workload.name = std::string(1, static_cast<char>('a' + static_cast<char>(i)));
    plan.workloads.push_back(workload);
  }
  return plan;
}

PlannedGroups family(std::string table, std::vector<std::vector<std::size_t>> members) {
  PlannedGroups groups;
  groups.table = std::move(table);
  groups.members = std::move(members);
  return groups;
}

std::vector<std::string> keys(const std::vector<Cell>& cells, const Plan& plan) {
  std::vector<std::string> out;
  out.reserve(cells.size());
  for (const Cell& cell : cells) {
    out.push_back(key_of(cell, plan));
  }
  return out;
}

std::vector<std::vector<std::size_t>> all_pairs(std::size_t workloads) {
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t i = 0; i < workloads; ++i) {
    for (std::size_t j = i + 1; j < workloads; ++j) {
      out.push_back({i, j});
    }
  }
  return out;
}

TEST(Cells, APlanBecomesRunsAloneAndThenItsGroups) {
  Plan plan = plan_of(2);
  plan.solo_repeats = 2;
  plan.groups = {family("pairs", {{0, 1}})};
  EXPECT_EQ(keys(expand(plan), plan),
            (std::vector<std::string>{"alone mps a #0",
                                      "alone mps a #1",
                                      "alone mps b #0",
                                      "alone mps b #1",
                                      "pairs mps a+b #0"}));
}

TEST(Cells, EveryKindOfMemberGetsItsSoloRun) {
  Plan plan = plan_of(2);
  plan.solo_repeats = 1;
  plan.groups = {family("limits", {{0, 1}}), family("", {{0, 0}}), family("", {{0, 1}})};
  plan.groups[0].thread_percentages = {{100.0, 25.0}, {33.5, 100.0}};
  plan.groups[0].low_priority = {false, true};
  plan.groups[1].mechanism = Mechanism::TimeSlicing;
  plan.groups[2].mechanism = Mechanism::Streams;
  EXPECT_EQ(keys(expand(plan), plan),
            (std::vector<std::string>{"alone mps a@33.5 #0",
                                      "alone mps a #0",
                                      "alone time-slicing a #0",
                                      "alone streams a #0",
                                      "alone mps b@25!low #0",
                                      "alone mps b!low #0",
                                      "alone streams b #0",
                                      "limits mps a+b@25!low #0",
                                      "limits mps a@33.5+b!low #0",
                                      " time-slicing a+a #0",
                                      " streams a+b #0"}));
}

TEST(Cells, OnlyMembersWithoutLimitsUnderMpsHaveRepeatedSoloRuns) {
  Plan plan = plan_of(1);
  plan.solo_repeats = 3;
  plan.limited_solo_repeats = 2;
  plan.groups = {family("x", {{0, 0}})};
  plan.groups[0].thread_percentages = {{50.0, 100.0}};
  const auto cells = expand(plan);
  EXPECT_EQ(std::ranges::count_if(cells,
                                  [](const Cell& cell) {
                                    return cell.solo() &&
                                           cell.members[0].thread_percentage == 100.0;
                                  }),
            3);
  EXPECT_EQ(std::ranges::count_if(cells,
                                  [](const Cell& cell) {
                                    return cell.solo() && cell.members[0].thread_percentage == 50.0;
                                  }),
            2);
}

TEST(Cells, CopiesAreToldApartButNeedOneRunAlone) {
  Plan plan = plan_of(2);
  plan.solo_repeats = 1;
  plan.groups = {family("", {{0}, {0, 1, 0, 0}})};
  const auto cells = expand(plan);
  ASSERT_EQ(keys(cells, plan),
            (std::vector<std::string>{"alone mps a #0", "alone mps b #0", " mps a+b+a+a #0"}));
  std::vector<std::size_t> copies;
  for (const Member& member : cells.back().members) {
    copies.push_back(member.copy);
  }
  EXPECT_EQ(copies, (std::vector<std::size_t>{0, 0, 1, 2}));
}

TEST(Cells, MembersWithDifferentLimitsAreNoCopies) {
  Plan plan = plan_of(1);
  plan.groups = {family("", {{0, 0}})};
  plan.groups[0].thread_percentages = {{25.0, 75.0}};
  const auto cells = expand(plan);
  for (const Member& member : cells.back().members) {
    EXPECT_EQ(member.copy, 0U);
  }
}

TEST(Cells, RepeatsAndTheShareDrawnAgainAreCounted) {
  Plan plan = plan_of(5);
  plan.solo_repeats = 1;
  plan.groups = {family("pairs", all_pairs(5))};
  plan.groups[0].repeats = 2;
  plan.groups[0].repeated_share = 0.3;
  const auto cells = expand(plan);
  std::map<std::size_t, int> of_repeat;
  for (const Cell& cell : cells) {
    of_repeat[cell.repeat] += cell.solo() ? 0 : 1;
  }
  EXPECT_EQ(of_repeat, (std::map<std::size_t, int>{{0, 10}, {1, 10}, {2, 3}}));
  EXPECT_EQ(keys(cells, plan), keys(expand(plan), plan));
}

TEST(Cells, AGroupNamedTwiceIsOne) {
  Plan plan = plan_of(2);
  plan.solo_repeats = 1;
  plan.groups = {family("pairs", {{0, 1}, {0, 1}, {1, 0}}), family("pairs", {{0, 1}})};
  EXPECT_EQ(keys(expand(plan), plan),
            (std::vector<std::string>{
                "alone mps a #0", "alone mps b #0", "pairs mps a+b #0", "pairs mps b+a #0"}));
}

TEST(Batches, RunsAloneOfASeatAreSpreadOverTheirBatch) {
  Plan plan = plan_of(8);
  plan.solo_repeats = 3;
  plan.groups = {family("pairs", all_pairs(8))};
  const auto batches = into_batches(expand(plan), plan);
  ASSERT_EQ(batches.size(), 1U);
  const auto& cells = batches[0].cells;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].solo()) {
      // The k-th of three lies in about the k-th third.
      const double place = static_cast<double>(i) / static_cast<double>(cells.size());
      EXPECT_NEAR(place, (static_cast<double>(cells[i].repeat) + 0.5) / 3.0, 0.3);
    }
  }
  std::map<std::size_t, std::size_t> seen;  // of every workload, in their order
  for (const Cell& cell : cells) {
    if (cell.solo()) {
      EXPECT_EQ(cell.repeat, seen[cell.members[0].workload]++);
    }
  }
}

TEST(Batches, TheOrderIsTheSeeds) {
  Plan plan = plan_of(6);
  plan.groups = {family("pairs", all_pairs(6))};
  const auto order = [&plan] { return keys(into_batches(expand(plan), plan).at(0).cells, plan); };
  const auto first = order();
  EXPECT_EQ(first, order());
  EXPECT_NE(first, keys(expand(plan), plan));
  plan.seed = 4;
  EXPECT_NE(first, order());
}

TEST(Batches, AGroupLargerThanTheLimitHasABatchOfItsOwn) {
  Plan plan = plan_of(4);
  plan.workers.resident = 2;
  plan.groups = {family("", {{0, 1, 2, 3}})};
  const auto batches = into_batches(expand(plan), plan);
  ASSERT_FALSE(batches.empty());
  EXPECT_EQ(batches[0].members.size(), 4U);
}

TEST(Batches, WorkersThatDoNotFitTogetherAreNotResidentTogether) {
  Plan plan = plan_of(4);
  plan.groups = {family("pairs", {{0, 1}, {2, 3}, {0, 2}})};
  const WorkerMemory memory{.of_workload = {{0, 40}, {1, 40}, {2, 40}}, .limit = 100};
  const auto batches = into_batches(expand(plan), plan, memory);
  ASSERT_EQ(batches.size(), 2U);
  for (const Batch& batch : batches) {
    EXPECT_LT(std::ranges::count_if(batch.members,
                                    [](const Member& member) { return member.workload < 3; }),
              3);
  }
  EXPECT_EQ(into_batches(expand(plan), plan).size(), 1U);
}

TEST(Batches, NothingToDoIsNoBatch) {
  EXPECT_TRUE(into_batches({}, plan_of(2)).empty());
}

}  // namespace
}  // namespace carpool::measure
