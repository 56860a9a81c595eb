#include "predict/objective.hpp"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace carpool::predict {
namespace {

GroupForecast forecast_of(const std::vector<double>& throughputs) {
  GroupForecast forecast;
  double sum = 0.0;
  for (const double throughput : throughputs) {
    forecast.members.emplace_back().throughput = throughput;
    sum += throughput;
  }
  forecast.sum = sum;
  forecast.preference = sum;
  return forecast;
}

Score score(const Objective& objective, const GroupForecast& forecast) {
  const std::vector<double> solo_speeds = {100.0, 10.0, 4.0};
  return score_group(objective, forecast, solo_speeds, member_weights(objective, 3));
}

// Progress of the three: 80/100 = 0.8, 6/10 = 0.6, 3/4 = 0.75.
const std::vector<double> together = {80.0, 6.0, 3.0};

TEST(ObjectiveTest, EachValueIsItsFormula) {
  const GroupForecast forecast = forecast_of(together);
  EXPECT_DOUBLE_EQ(score({.kind = ObjectiveKind::Throughput}, forecast).value, 89.0);
  EXPECT_DOUBLE_EQ(score({.kind = ObjectiveKind::Normalized}, forecast).value, 2.15);
  EXPECT_DOUBLE_EQ(score({.kind = ObjectiveKind::MaxMin}, forecast).value, 0.6);
  // 1 * 0.8 + 0.5 * 0.6 + 0.5 * 0.75: the last weight holds for all members past the end.
  EXPECT_DOUBLE_EQ(score({.kind = ObjectiveKind::Weighted}, forecast).value, 1.475);
  // 2 * 0.8 + 0 * 0.6 + 4 * 0.75
  EXPECT_DOUBLE_EQ(
      score({.kind = ObjectiveKind::Weighted, .weights = {2.0, 0.0, 4.0}}, forecast).value, 4.6);
}

TEST(ObjectiveTest, WorstMemberIsNamedWhateverTheObjective) {
  for (const ObjectiveInfo& info : objective_kinds()) {
    const Score found = score({.kind = info.kind}, forecast_of(together));
    EXPECT_EQ(found.worst_member, 1U) << info.name;
    EXPECT_DOUBLE_EQ(found.worst_progress.value(), 0.6) << info.name;
  }
}

TEST(ObjectiveTest, FloorIsBrokenBelowItAndKeptAtIt) {
  EXPECT_TRUE(score({.floor = 0.6}, forecast_of(together)).feasible);
  EXPECT_FALSE(score({.floor = 0.61}, forecast_of(together)).feasible);
}

TEST(ObjectiveTest, InfeasibleIsWorseThanAnyFeasibleAndOrderedByItsWorstMember) {
  const Objective floored = {.floor = 0.6};
  const Score feasible = score(floored, forecast_of({60.0, 6.0, 2.4}));
  const Score near_floor = score(floored, forecast_of({99.0, 5.9, 3.9}));
  const Score far_below = score(floored, forecast_of({100.0, 10.0, 0.4}));
  EXPECT_TRUE(better(feasible, near_floor));
  EXPECT_FALSE(better(near_floor, feasible));
  EXPECT_TRUE(better(near_floor, far_below));
  EXPECT_FALSE(better(feasible, feasible));
}

TEST(ObjectiveTest, ThroughputOfAModelThatOnlyRanksIsItsPreference) {
  GroupForecast forecast;
  forecast.preference = -3.5;
  EXPECT_DOUBLE_EQ(score_group({}, forecast, {}, {}).value, -3.5);
  EXPECT_FALSE(score_group({}, forecast, {}, {}).worst_progress.has_value());
}

TEST(ObjectiveTest, ForecastThatIsNoNumberIsInfeasible) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Objective max_min = {.kind = ObjectiveKind::MaxMin};
  EXPECT_FALSE(score(max_min, forecast_of({nan, 6.0, 3.0})).feasible);
  EXPECT_FALSE(score(max_min, forecast_of({80.0, 6.0, nan})).feasible);
  EXPECT_FALSE(score({}, forecast_of({80.0, nan, 3.0})).feasible);
}

TEST(ObjectiveTest, SumOnlySupportsThroughputWithoutFloor) {
  EXPECT_TRUE(check_objective({}, /*predicts_members=*/false).has_value());
  const auto floored = check_objective({.floor = 0.5}, /*predicts_members=*/false);
  ASSERT_FALSE(floored.has_value());
  EXPECT_EQ(floored.error().code, ErrorCode::Unsupported);
  const auto fair = check_objective({.kind = ObjectiveKind::MaxMin}, /*predicts_members=*/false);
  ASSERT_FALSE(fair.has_value());
  EXPECT_NE(fair.error().message.find("'max-min'"), std::string::npos);
  EXPECT_TRUE(check_objective({.kind = ObjectiveKind::MaxMin, .floor = 0.5}, true).has_value());
}

TEST(ObjectiveTest, FloorAndWeightsOutOfRangeAreRefused) {
  const auto error = [](const Objective& objective) {
    const auto checked = check_objective(objective, /*predicts_members=*/true);
    return checked ? "accepted" : checked.error().message;
  };
  const std::string range = ": must lie between 0 and 1, a share of the solo speed";
  EXPECT_EQ(error({.floor = 1.01}), "floor 1.01" + range);
  EXPECT_EQ(error({.floor = -0.1}), "floor -0.1" + range);
  EXPECT_EQ(error({.floor = std::numeric_limits<double>::quiet_NaN()}), "floor nan" + range);
  const std::string weights =
      "objective 'weighted' needs weights that are zero or more, one of them above zero";
  EXPECT_EQ(error({.kind = ObjectiveKind::Weighted, .weights = {}}), weights);
  EXPECT_EQ(error({.kind = ObjectiveKind::Weighted, .weights = {0.0}}), weights);
  EXPECT_EQ(error({.kind = ObjectiveKind::Weighted, .weights = {1.0, -1.0}}), weights);
}

TEST(ObjectiveTest, NamesAreFoundAndAnUnknownOneListsThem) {
  for (const ObjectiveInfo& info : objective_kinds()) {
    EXPECT_EQ(find_objective(info.name), info.kind);
    EXPECT_EQ(objective_name(info.kind), info.name);
  }
  const auto unknown = find_objective("fair");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("throughput, normalized, max-min, weighted"),
            std::string::npos);
}

}  // namespace
}  // namespace carpool::predict
