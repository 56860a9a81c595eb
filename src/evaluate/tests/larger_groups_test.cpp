#include "evaluate/larger_groups.hpp"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace carpool::evaluate {
namespace {

const dataset::Dataset& bundled(const std::string& name) {
  static const dataset::Dataset h200 =
      *dataset::load_dataset(std::filesystem::path(CARPOOL_SOURCE_DIR) / "data/h200");
  static const dataset::Dataset groups =
      *dataset::load_dataset(std::filesystem::path(CARPOOL_SOURCE_DIR) / "data/h200-groups");
  return name == "h200" ? h200 : groups;
}

std::vector<LargerGroupsResult> judge(const LargerGroupsRequest& request) {
  const auto results = judge_larger_groups(bundled("h200"), bundled("h200-groups"), request);
  EXPECT_TRUE(results.has_value()) << results.error().message;
  return results.value_or(std::vector<LargerGroupsResult>{});
}

TEST(LargerGroups, ComparesMembersWithTheirMeasuredSpeed) {
  std::vector<Profile> profiles(2);
  profiles[0].exclusive_throughput = 10.0;
  profiles[1].exclusive_throughput = 100.0;
  const std::vector<dataset::GroupRow> rows = {
      {.id = 0, .members = {{0, 100}, {1, 100}}, .throughput = {5.0, 50.0}}};
  std::vector<GroupForecast> forecasts(1);
  forecasts[0].members = {{.throughput = 6.0, .interval90 = Interval{4.0, 7.0}},
                          {.throughput = 30.0, .interval90 = Interval{20.0, 40.0}}};
  forecasts[0].sum = 36.0;
  const LargerGroupsResult result = compare_groups(profiles, rows, forecasts);
  EXPECT_EQ(result.groups, 1U);
  EXPECT_EQ(result.members, 2U);
  EXPECT_DOUBLE_EQ(*result.mape_member, 0.3);
  EXPECT_DOUBLE_EQ(*result.median_member, 0.3);
  EXPECT_NEAR(*result.bias_member, 0.5 * (std::log(1.2) + std::log(0.6)), 1e-12);
  EXPECT_DOUBLE_EQ(*result.coverage90, 0.5);
  EXPECT_NEAR(*result.mape_progress, 0.1, 1e-12);  // 0.9 instead of 1.0
}

TEST(LargerGroups, TakesTheTablesLargerThanTheTrainedBySize) {
  const auto results = judge({.model = "share", .test_tables = {"sevens", "fives"}});
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].table, "fives");
  EXPECT_EQ(results[0].groups, 10U);  // of 12 rows, two are repeats
  EXPECT_EQ(results[0].noise->groups, 2U);
  EXPECT_EQ(results[1].group_size, 7U);
  EXPECT_EQ(judge({.model = "share"}).size(), 11U);
}

TEST(LargerGroups, NoRowIsTrainedOnAndTested) {
  LargerGroupsRequest request{
      .model = "share", .train_tables = {"pairs", "triples"}, .test_tables = {"triples"}};
  const dataset::Dataset& one = bundled("h200");
  const auto same = judge_larger_groups(one, one, request);
  ASSERT_FALSE(same.has_value());
  EXPECT_EQ(same.error().code, ErrorCode::InvalidInput);
  EXPECT_NE(same.error().message.find("test on the same rows"), std::string::npos);
  request.train_tables = {"pairs", "pairs"};
  const auto twice = judge_larger_groups(one, one, request);
  ASSERT_FALSE(twice.has_value());
  EXPECT_NE(twice.error().message.find("counted twice"), std::string::npos);
}

TEST(LargerGroups, AModelTrainedWithoutTheMembersKnowsLess) {
  LargerGroupsRequest request{.model = "share", .test_tables = {"fives"}};
  const auto seen = judge(request);
  request.unseen_members = true;
  std::size_t trainings = 0;
  request.on_progress = [&](const std::string&) { ++trainings; };
  const auto unseen = judge(request);
  EXPECT_EQ(trainings, 10U);
  EXPECT_GT(*unseen[0].mape_member, *seen[0].mape_member);
  EXPECT_GT(*unseen[0].width90, *seen[0].width90);
}

// The errors of groups of 5, 6, 7, 8 and 10 are at most `most`; the intervals of all together cover
// 85 to 95 % of the members.
void expect_within(const std::vector<std::string>& trained, const std::vector<double>& most) {
  const auto results = judge({.model = "share",
                              .train_tables = trained,
                              .test_tables = {"fives", "sixes", "sevens", "eights", "tens"}});
  ASSERT_EQ(results.size(), most.size());
  double covered = 0.0;
  double members = 0.0;
  for (std::size_t i = 0; i < most.size(); ++i) {
    EXPECT_LE(*results[i].mape_member, most[i]) << results[i].table;
    EXPECT_GE(*results[i].coverage90, 0.85) << results[i].table;
    covered += *results[i].coverage90 * static_cast<double>(results[i].members);
    members += static_cast<double>(results[i].members);
  }
  EXPECT_LE(covered / members, 0.95);
}

// By weights alone: 18, 27, 29, 36 and 39 %.
TEST(LargerGroups, ShareTrainedOnPairsPredictsGroupsOfFiveToTen) {
  expect_within({"pairs"}, {0.09, 0.095, 0.095, 0.12, 0.125});
}

// By weights alone: 16, 24, 27, 33 and 36 %.
TEST(LargerGroups, ShareTrainedOnPairsAndQuadsPredictsGroupsOfFiveToTen) {
  expect_within({"pairs", "quads"}, {0.05, 0.055, 0.06, 0.07, 0.075});
}

TEST(LargerGroups, AnUnknownTableIsAnError) {
  const auto results = judge_larger_groups(
      bundled("h200"), bundled("h200-groups"), {.model = "share", .test_tables = {"thirteens"}});
  ASSERT_FALSE(results.has_value());
  EXPECT_NE(results.error().message.find("thirteens"), std::string::npos);
}

}  // namespace
}  // namespace carpool::evaluate
