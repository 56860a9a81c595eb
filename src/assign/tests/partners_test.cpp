#include "assign/partners.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "assign/grow_group.hpp"
#include "predict/tests/fake_forecaster.hpp"

namespace carpool::assign {
namespace {

using predict::fake::FakeAnswers;
using predict::fake::FakeWorkload;
using predict::fake::FakeWorld;

using Workloads = std::vector<FakeWorkload>;

// Pressures as exp: target 1, light partner 0.25, equal 1, heavy 4; all with a solo speed of 1
// unit/s. Beside a partner of pressure p the target runs at 1 / (1 + p), the partner at 1 / (1 +
// 1/p).
const Workloads four_workloads = {{.pressure = 0.0},
                                  {.pressure = std::log(0.25)},
                                  {.pressure = 0.0, .extrapolated = true},
                                  {.pressure = std::log(4.0)}};

const std::vector<std::vector<std::size_t>> each_one = {{3}, {2}, {1}};

bool has_reason(const RankedGroup& ranked, std::string_view text) {
  return std::ranges::find(ranked.reasons, text) != ranked.reasons.end();
}

TEST(PartnersTest, BestComesFirstWithReasons) {
  const FakeWorld world(four_workloads);
  const PartnerRequest request = {.candidates = each_one,
                                  .objective = {.kind = predict::ObjectiveKind::MaxMin}};
  const auto ranked = rank_partners(world.predictor(), request).value();
  ASSERT_EQ(ranked.size(), 3U);
  // Smallest progress: with w2 0.5, with w1 1 / (1 + 4) = 0.2, with w3 the target 0.2.
  EXPECT_EQ(ranked[0].group[1].profile, 2U);
  EXPECT_DOUBLE_EQ(ranked[0].score.value, 0.5);
  EXPECT_TRUE(has_reason(ranked[0], "w2 runs at 50 % of its solo speed"));
  EXPECT_TRUE(has_reason(ranked[0], "slows you 2.00x"));
  EXPECT_TRUE(has_reason(ranked[0], "outside training data: w2"));
  EXPECT_FALSE(has_reason(ranked[1], "outside training data: w2"));
}

TEST(PartnersTest, BrokenFloorSaysWhoBreaksItAndGoesLast) {
  const FakeWorld world(four_workloads);
  const PartnerRequest request = {.candidates = each_one, .objective = {.floor = 0.45}};
  const auto ranked = rank_partners(world.predictor(), request).value();
  EXPECT_TRUE(ranked[0].score.feasible);
  EXPECT_FALSE(ranked[1].score.feasible);
  const auto heavy = std::ranges::find(
      ranked, 3U, [](const RankedGroup& group) { return group.group[1].profile; });
  ASSERT_NE(heavy, ranked.end());
  EXPECT_EQ(heavy->reasons.front(), "floor 0.45 broken by w0 (0.20)");
}

TEST(PartnersTest, WhatDoesNotFitIsNeverForecast) {
  FakeWorld world(four_workloads);
  world.memory_gib(0, 10.0).memory_gib(1, 4.25).memory_gib(3, 30.0);
  const std::size_t before = world.forecaster().groups_asked();
  const PartnerRequest request = {.candidates = each_one, .objective = {}, .memory_gib = 32.0};
  const auto ranked = rank_partners(world.predictor(), request).value();
  EXPECT_EQ(world.forecaster().groups_asked() - before, 2U);
  EXPECT_EQ(ranked[2].group[1].profile, 3U);
  EXPECT_FALSE(ranked[2].forecast.has_value());
  EXPECT_FALSE(ranked[2].score.feasible);
  EXPECT_EQ(ranked[2].reasons.front(), "does not fit: memory 40.0 of 32 GiB");
  for (const RankedGroup& group : std::span(ranked).first(2)) {
    EXPECT_TRUE(group.score.feasible);
    EXPECT_TRUE(has_reason(group,
                           group.group[1].profile == 1
                               ? "memory 14.2 of 32 GiB"
                               : "memory 10.0 of 32 GiB without w2, whose memory is unknown"));
  }
}

TEST(PartnersTest, TriplesAreRankedToo) {
  const FakeWorld world(four_workloads);
  const std::vector<std::size_t> pool = {1, 2, 3};
  PartnerRequest request = {.candidates = choices(pool, 2), .objective = {}};
  const auto ranked = rank_partners(world.predictor(), request).value();
  ASSERT_EQ(ranked.size(), 3U);
  for (const RankedGroup& triple : ranked) {
    EXPECT_EQ(triple.group.size(), 3U);
    EXPECT_EQ(std::ranges::count_if(triple.reasons,
                                    [](const std::string& reason) {
                                      return reason.find("of its solo speed") != std::string::npos;
                                    }),
              2);
  }
}

TEST(PartnersTest, OrderOnlyStillRanks) {
  Workloads workloads = four_workloads;
  workloads[3].capacity = std::log(2.0);
  const FakeWorld world(workloads, FakeAnswers::OrderOnly);
  const auto ranked =
      rank_partners(world.predictor(), {.candidates = each_one, .objective = {}}).value();
  // Sums 1 with w1 and w2; with w3 0.2 + 2 / (1 + 1/4) = 1.8.
  EXPECT_EQ(ranked[0].group[1].profile, 3U);
  EXPECT_NEAR(ranked[0].score.value, 1.8, 1e-9);
  EXPECT_NEAR(ranked[2].score.value, 1.0, 1e-9);
  const auto floored =
      rank_partners(world.predictor(), {.candidates = each_one, .objective = {.floor = 0.5}});
  ASSERT_FALSE(floored.has_value());
  EXPECT_EQ(floored.error().code, ErrorCode::Unsupported);
}

TEST(PartnersTest, BadRequestsAreRefused) {
  const FakeWorld world(four_workloads);
  const auto error = [&](const PartnerRequest& request) {
    const auto ranked = rank_partners(world.predictor(), request);
    return ranked ? "accepted" : ranked.error().message;
  };
  EXPECT_EQ(error({.candidates = {{7}}, .objective = {}}),
            "profile 7 of a group: there are 4 profiles");
  EXPECT_EQ(error({.candidates = {{}}, .objective = {}}),
            "a candidate group has no member beside the target");
  EXPECT_EQ(error({.target = 9, .candidates = each_one, .objective = {}}),
            "profile 9 of a group: there are 4 profiles");
  EXPECT_EQ(error({.candidates = each_one, .objective = {}, .memory_gib = 0.0}),
            "GPU memory 0 GiB: must be above 0");
}

TEST(PartnersTest, ForecastThatIsNoNumberIsLastAndSaysSo) {
  Workloads broken = four_workloads;
  broken[1].no_number = true;
  const FakeWorld world(broken);
  const auto ranked =
      rank_partners(world.predictor(), {.candidates = {{1}, {2}, {3}}, .objective = {}}).value();
  EXPECT_EQ(ranked[2].group[1].profile, 1U);
  EXPECT_EQ(ranked[2].reasons.front(), "the model has no usable forecast");
}

TEST(ChoicesTest, EverySubsetOnce) {
  const std::vector<std::size_t> pool = {4, 6, 9};
  EXPECT_EQ(choices(pool, 2), (std::vector<std::vector<std::size_t>>{{4, 6}, {4, 9}, {6, 9}}));
  EXPECT_EQ(choices(pool, 3).size(), 1U);
  EXPECT_TRUE(choices(pool, 4).empty());
  EXPECT_TRUE(choices(pool, 0).empty());
}

// Ten alike with light = log 9: in a group of n each runs at 1 / (1 + (n - 1) / 9), so n together
// make n / (1 + (n - 1) / 9) and every addition pays; progress 0.9, 0.82, 0.75, 0.69, …
Workloads ten_light() {
  return Workloads(10, {.light = std::log(9.0)});
}

GrowRequest grow_all() {
  GrowRequest request;
  request.start = {0};
  request.pool = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  request.objective.kind = predict::ObjectiveKind::Normalized;
  return request;
}

TEST(GrowGroupTest, StopsAtTheSizeLimit) {
  const FakeWorld world(ten_light());
  const auto grown = grow_group(world.predictor(), grow_all()).value();
  EXPECT_EQ(grown.group.size(), 4U);
  EXPECT_EQ(grown.steps.size(), 3U);
  EXPECT_EQ(grown.stopped_because, "size limit of 4 reached");
  EXPECT_NEAR(grown.steps.back().score.value, 4.0 / (1.0 + 3.0 / 9.0), 1e-9);
}

TEST(GrowGroupTest, StopsAtTheFloorAndSaysWhoBreaksIt) {
  const FakeWorld world(ten_light());
  GrowRequest request = grow_all();
  request.objective.floor = 0.7;
  request.max_size = 10;
  const auto grown = grow_group(world.predictor(), request).value();
  EXPECT_EQ(grown.group.size(), 4U);
  EXPECT_EQ(grown.stopped_because.find("no remaining workload keeps the floor"), 0U);
  EXPECT_NE(grown.stopped_because.find("(0.69)"), std::string::npos);
}

TEST(GrowGroupTest, StopsWhenMemoryIsFull) {
  FakeWorld world(ten_light());
  for (std::size_t i = 0; i < 10; ++i) {
    world.memory_gib(i, 6.0);
  }
  GrowRequest request = grow_all();
  request.memory_gib = 16.0;
  const auto grown = grow_group(world.predictor(), request).value();
  EXPECT_EQ(grown.group.size(), 2U);
  EXPECT_NE(grown.stopped_because.find("memory 18.0 of 16 GiB"), std::string::npos);
}

// Equal heavy members share one GPU's worth: the sum stays at 1.
TEST(GrowGroupTest, StopsWhenTheObjectiveNoLongerRises) {
  const FakeWorld world(Workloads(4, FakeWorkload{.light = -0.1}));
  GrowRequest request = grow_all();
  request.pool = {1, 2, 3};
  const auto grown = grow_group(world.predictor(), request).value();
  EXPECT_TRUE(grown.steps.empty());
  EXPECT_NE(grown.stopped_because.find("no longer rises"), std::string::npos);
}

TEST(GrowGroupTest, MaxMinGrowsUntilThePoolIsEmpty) {
  const FakeWorld world(ten_light());
  GrowRequest request = grow_all();
  request.objective.kind = predict::ObjectiveKind::MaxMin;
  request.pool = {1, 2};
  const auto grown = grow_group(world.predictor(), request).value();
  EXPECT_EQ(grown.group.size(), 3U);
  EXPECT_EQ(grown.stopped_because, "no workload left to add");
}

TEST(GrowGroupTest, StartThatDoesNotFitIsToldAndAModelThatOnlyRanksRefused) {
  FakeWorld world(ten_light());
  world.memory_gib(0, 20.0);
  GrowRequest request = grow_all();
  request.memory_gib = 16.0;
  const auto grown = grow_group(world.predictor(), request).value();
  EXPECT_TRUE(grown.steps.empty());
  EXPECT_NE(grown.stopped_because.find("does not fit"), std::string::npos);

  const FakeWorld order(ten_light(), FakeAnswers::OrderOnly);
  const auto ranking_only = grow_group(order.predictor(), grow_all());
  ASSERT_FALSE(ranking_only.has_value());
  EXPECT_EQ(ranking_only.error().code, ErrorCode::Unsupported);
  request.start = {};
  const auto empty = grow_group(world.predictor(), request);
  ASSERT_FALSE(empty.has_value());
  EXPECT_EQ(empty.error().message, "a group needs at least one workload");
}

}  // namespace
}  // namespace carpool::assign
