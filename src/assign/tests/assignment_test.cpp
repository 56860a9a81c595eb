#include "assign/assignment.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "predict/tests/fake_forecaster.hpp"

namespace carpool::assign {
namespace {

using predict::fake::FakeAnswers;
using predict::fake::FakeWorkload;
using predict::fake::FakeWorld;
using predict::fake::random_workloads;

using Workloads = std::vector<FakeWorkload>;

AssignmentRequest request_for(std::size_t workloads, std::size_t gpus) {
  AssignmentRequest request;
  request.workloads.resize(workloads);
  std::iota(request.workloads.begin(), request.workloads.end(), std::size_t{0});
  request.gpus = gpus;
  request.objective.kind = predict::ObjectiveKind::Normalized;
  return request;
}

double total(const FakeWorld& world, AssignmentRequest request, AssignMethod method) {
  request.method = method;
  const auto assignment = assign(world.predictor(), request);
  EXPECT_TRUE(assignment.has_value());
  EXPECT_EQ(assignment->method, method);
  return assignment->total;
}

// Two heavy and two light of pressure 1 and 0.1, light workloads light = log 9. Heavy + light:
// heavy 1 / 1.1 = 0.91, light 1 / (1 + 10/9) = 0.47, sum 1.38; heavy + heavy 1; light + light 1.8.
const Workloads heavy_and_light = {
    {.pressure = 0.0},
    {.pressure = 0.0},
    {.pressure = std::log(0.1), .light = std::log(9.0)},
    {.pressure = std::log(0.1), .light = std::log(9.0)},
};

TEST(AssignmentTest, PairsAreThoseOfTheHighestTotal) {
  const FakeWorld world(heavy_and_light);
  const auto assignment = assign(world.predictor(), request_for(4, 2)).value();
  // 1 + 1.8 = 2.8 beats 2 * 1.38 = 2.77.
  ASSERT_EQ(assignment.groups.size(), 2U);
  EXPECT_NEAR(assignment.total, 2.8, 1e-9);
  EXPECT_TRUE(assignment.optimal);
  std::set<std::vector<std::size_t>> groups;
  for (const AssignedGroup& group : assignment.groups) {
    groups.insert(group.workloads);
    EXPECT_TRUE(group.forecast.sum_interval90.has_value());
  }
  EXPECT_EQ(groups, (std::set<std::vector<std::size_t>>{{0, 1}, {2, 3}}));
}

TEST(AssignmentTest, MaxMinMixesHeavyAndLight) {
  Workloads workloads = heavy_and_light;
  workloads[2].light = workloads[3].light = std::log(19.0);
  // Heavy + light: 0.91 and 1 / (1 + 10/19) = 0.66; heavy + heavy 0.5.
  const FakeWorld world(workloads);
  AssignmentRequest request = request_for(4, 2);
  request.objective.kind = predict::ObjectiveKind::MaxMin;
  for (const AssignMethodInfo& info : assign_methods()) {
    request.method = info.method;
    const auto assignment = assign(world.predictor(), request).value();
    EXPECT_NEAR(assignment.total, 19.0 / 29.0, 1e-9) << info.name;
  }
}

TEST(AssignmentTest, WithEnoughGpusEveryWorkloadRunsAtItsSoloSpeed) {
  const FakeWorld world(random_workloads(20, 1));
  for (const AssignMethod method : {AssignMethod::Matching, AssignMethod::LocalSearch}) {
    EXPECT_NEAR(total(world, request_for(20, 25), method), 20.0, 1e-9);
  }
  EXPECT_NEAR(total(world, request_for(10, 10), AssignMethod::Exact), 10.0, 1e-9);
}

TEST(AssignmentTest, MatchingAndExactAgreeOnPairs) {
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    FakeWorld world(random_workloads(12, seed));
    for (std::size_t i = 0; i < 12; ++i) {
      world.memory_gib(i, static_cast<double>(2 + (7 * i + seed) % 11));
    }
    for (const predict::ObjectiveInfo& info : predict::objective_kinds()) {
      for (const std::size_t gpus : {4U, 6U, 8U}) {
        AssignmentRequest request = request_for(12, gpus);
        request.objective = {.kind = info.kind, .floor = 0.1 * (seed % 4)};
        request.memory_gib = 14.0;
        const double exact = total(world, request, AssignMethod::Exact);
        EXPECT_NEAR(total(world, request, AssignMethod::Matching), exact, 1e-5 * exact)
            << info.name << ", " << gpus << " GPUs, seed " << seed;
      }
    }
  }
}

TEST(AssignmentTest, LocalSearchIsWithinOnePercentOfExact) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const FakeWorld world(random_workloads(12, seed));
    for (const predict::ObjectiveInfo& info : predict::objective_kinds()) {
      for (const std::size_t per_gpu : {2U, 3U, 4U}) {
        AssignmentRequest request = request_for(12, 12 / per_gpu);
        request.max_per_gpu = per_gpu;
        request.objective.kind = info.kind;
        EXPECT_GE(total(world, request, AssignMethod::LocalSearch),
                  0.99 * total(world, request, AssignMethod::Exact))
            << info.name << ", " << per_gpu << " a GPU, seed " << seed;
      }
    }
  }
}

TEST(AssignmentTest, LocalSearchIsWithinOnePercentOfMatchingForAHundred) {
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    const FakeWorld world(random_workloads(100, seed));
    for (const predict::ObjectiveInfo& info : predict::objective_kinds()) {
      for (const std::size_t gpus : {50U, 70U}) {
        AssignmentRequest request = request_for(100, gpus);
        request.objective.kind = info.kind;
        EXPECT_GE(total(world, request, AssignMethod::LocalSearch),
                  0.99 * total(world, request, AssignMethod::Matching))
            << info.name << ", " << gpus << " GPUs, seed " << seed;
      }
    }
  }
}

TEST(AssignmentTest, LocalSearchPlacesAllUnderATightFloorWhereMatchingDoes) {
  const FakeWorld world(random_workloads(100, 4));
  AssignmentRequest request = request_for(100, 50);
  request.objective.kind = predict::ObjectiveKind::MaxMin;
  request.method = AssignMethod::Matching;
  const double best = assign(world.predictor(), request).value().total;
  request.objective = {.kind = predict::ObjectiveKind::Normalized, .floor = 0.9 * best};
  EXPECT_TRUE(assign(world.predictor(), request).value().left_over.empty());
  request.method = AssignMethod::LocalSearch;
  EXPECT_TRUE(assign(world.predictor(), request).value().left_over.empty());
}

TEST(AssignmentTest, SameSeedSameAnswer) {
  const FakeWorld world(random_workloads(40, 3));
  AssignmentRequest request = request_for(40, 14);
  request.max_per_gpu = 3;
  request.seed = 11;
  const auto first = assign(world.predictor(), request).value();
  const auto second = assign(world.predictor(), request).value();
  ASSERT_EQ(first.groups.size(), second.groups.size());
  EXPECT_EQ(first.total, second.total);
  for (std::size_t i = 0; i < first.groups.size(); ++i) {
    EXPECT_EQ(first.groups[i].workloads, second.groups[i].workloads);
  }
}

TEST(AssignmentTest, CopiesOfAWorkloadAreForecastOnce) {
  const FakeWorld world(random_workloads(3, 2));
  AssignmentRequest request = request_for(60, 30);
  for (std::size_t i = 0; i < 60; ++i) {
    request.workloads[i] = i % 3;
  }
  const std::size_t before = world.forecaster().groups_asked();
  const auto assignment = assign(world.predictor(), request).value();
  // 3 singles, 6 pairs, and the 30 groups of the answer.
  EXPECT_EQ(world.forecaster().groups_asked() - before, 39U);
  EXPECT_EQ(assignment.method, AssignMethod::Matching);
}

TEST(AssignmentTest, WhatCannotBePlacedIsLeftOverWithItsReason) {
  FakeWorld world(random_workloads(5, 1));
  world.memory_gib(0, 40.0).memory_gib(1, 10.0);
  AssignmentRequest request = request_for(5, 1);
  request.memory_gib = 32.0;
  for (const AssignMethod method :
       {AssignMethod::Exact, AssignMethod::Matching, AssignMethod::LocalSearch}) {
    request.method = method;
    const auto assignment = assign(world.predictor(), request).value();
    ASSERT_EQ(assignment.left_over.size(), 3U);
    EXPECT_EQ(assignment.left_over[0].workload, 0U);
    EXPECT_EQ(assignment.left_over[0].reason, "needs 40.0 GiB, a GPU has 32");
    EXPECT_EQ(assignment.left_over[1].reason,
              "every GPU is full: 1 GPUs, at most 2 workloads each");
  }
}

TEST(AssignmentTest, FloorAndMemoryLeavePlacesEmpty) {
  FakeWorld world(Workloads(6, FakeWorkload{}));
  for (std::size_t i = 0; i < 6; ++i) {
    world.memory_gib(i, 10.0);
  }
  AssignmentRequest request = request_for(6, 4);
  request.memory_gib = 32.0;
  request.objective.floor = 0.7;  // two alike run at 0.5
  for (const AssignMethod method :
       {AssignMethod::Exact, AssignMethod::Matching, AssignMethod::LocalSearch}) {
    request.method = method;
    const auto assignment = assign(world.predictor(), request).value();
    EXPECT_EQ(assignment.groups.size(), 4U);
    ASSERT_EQ(assignment.left_over.size(), 2U);
    EXPECT_EQ(assignment.left_over[0].reason,
              "no GPU has room left where it fits into 32 GiB and keeps the floor 0.70");
  }
}

TEST(AssignmentTest, WeightsFollowThePositionInTheRequest) {
  // Alike but for the weight: the primary must not be the one that shares.
  const FakeWorld world(Workloads(3, FakeWorkload{}));
  AssignmentRequest request = request_for(3, 2);
  request.objective = {.kind = predict::ObjectiveKind::Weighted, .weights = {0.1, 1.0, 0.1}};
  for (const AssignMethod method :
       {AssignMethod::Exact, AssignMethod::Matching, AssignMethod::LocalSearch}) {
    // 1.0 for the single + (0.1 + 0.1) * 0.5
    EXPECT_NEAR(total(world, request, method), 1.1, 1e-9);
  }
}

// Two of one profile and one of another: the search values the group of workloads 1 and 2 by its
// kinds, (w0, w1), and the result by its members, (w1, w0). Each keeps its own weight.
TEST(AssignmentTest, WeightsFollowTheMembersWhateverTheOrderOfTheirKinds) {
  // Beside each other w0 runs at 1 / (1 + 1/2) = 2/3 and w1 at 1 / (1 + 2) = 1/3.
  const FakeWorld world(Workloads{{.pressure = std::log(2.0)}, {.pressure = 0.0}});
  AssignmentRequest request = request_for(3, 2);
  request.workloads = {0, 1, 0};
  request.objective = {.kind = predict::ObjectiveKind::Weighted, .weights = {1.0, 0.1, 0.7}};
  for (const AssignMethod method :
       {AssignMethod::Exact, AssignMethod::Matching, AssignMethod::LocalSearch}) {
    // Workload 0 has a GPU for itself: 1 + 0.1 / 3 + 0.7 * 2 / 3 = 1.5. The alternatives: workloads
    // 0 and 1 share 2/3 + 0.1 / 3 + 0.7 = 1.4, workloads 0 and 2 share 0.5 + 0.35 + 0.1 = 0.95.
    EXPECT_NEAR(total(world, request, method), 1.5, 1e-9);
  }
}

// The same three after one that fits on no GPU.
TEST(AssignmentTest, LeftOverWorkloadsDoNotShiftTheWeights) {
  FakeWorld world(Workloads(4, FakeWorkload{}));
  world.memory_gib(0, 100.0);
  AssignmentRequest request = request_for(4, 2);
  request.memory_gib = 40.0;
  request.objective = {.kind = predict::ObjectiveKind::Weighted, .weights = {1.0, 0.1, 1.0, 0.1}};
  for (const AssignMethod method :
       {AssignMethod::Exact, AssignMethod::Matching, AssignMethod::LocalSearch}) {
    EXPECT_NEAR(total(world, request, method), 1.1, 1e-9);
  }
}

TEST(AssignmentTest, SumOnlyIsEnoughForThroughput) {
  const FakeWorld world(random_workloads(8, 6), FakeAnswers::SumOnly);
  AssignmentRequest request = request_for(8, 4);
  request.objective.kind = predict::ObjectiveKind::Throughput;
  const FakeWorld members(random_workloads(8, 6));
  EXPECT_NEAR(total(world, request, AssignMethod::Exact),
              total(members, request, AssignMethod::Exact),
              1e-9);
  request.objective.kind = predict::ObjectiveKind::Normalized;
  EXPECT_FALSE(assign(world.predictor(), request).has_value());
}

TEST(AssignmentTest, RequestsThatCannotBeServedAreRefused) {
  const FakeWorld world(random_workloads(20, 6));
  const auto error = [&](auto change) {
    AssignmentRequest request = request_for(20, 10);
    change(request);
    const auto assignment = assign(world.predictor(), request);
    return assignment ? "accepted" : assignment.error().message;
  };
  const std::string no_room =
      "an assignment needs at least one GPU and room for one workload on it";
  EXPECT_EQ(error([](auto& request) { request.gpus = 0; }), no_room);
  EXPECT_EQ(error([](auto& request) { request.max_per_gpu = 0; }), no_room);
  EXPECT_EQ(error([](auto& request) { request.workloads[3] = 20; }),
            "workload to assign: profile 20 of 20 profiles");
  EXPECT_EQ(error([](auto& request) { request.memory_gib = -1.0; }),
            "GPU memory -1 GiB: must be above 0");
  EXPECT_EQ(error([](auto& request) { request.objective.floor = 2.0; }),
            "floor 2: must lie between 0 and 1, a share of the solo speed");
  EXPECT_EQ(error([](auto& request) { request.method = AssignMethod::Exact; }),
            "method 'exact' takes up to 14 workloads, not 20; use 'matching' or 'local-search'");
  EXPECT_EQ(
      error([](auto& request) {
        request.method = AssignMethod::Matching;
        request.max_per_gpu = 3;
      }),
      "method 'matching' takes 2 workloads per GPU and up to 4000 vertices, not 3 per GPU and "
      "20 vertices; use 'local-search'");
  EXPECT_EQ(error([](auto& request) { request.workloads.clear(); }), "accepted");

  const FakeWorld order(random_workloads(4, 6), FakeAnswers::OrderOnly);
  AssignmentRequest request = request_for(4, 2);
  request.objective.kind = predict::ObjectiveKind::Throughput;
  const auto ranking_only = assign(order.predictor(), request);
  ASSERT_FALSE(ranking_only.has_value());
  EXPECT_EQ(ranking_only.error().code, ErrorCode::Unsupported);
}

TEST(AssignmentTest, MethodNamesAreFoundAndAnUnknownOneListsThem) {
  for (const AssignMethodInfo& info : assign_methods()) {
    EXPECT_EQ(find_assign_method(info.name), info.method);
  }
  const auto unknown = find_assign_method("magic");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("auto, exact, matching, local-search"), std::string::npos);
}

}  // namespace
}  // namespace carpool::assign
