#include "predict/partition_choice.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "predict/tests/fake_forecaster.hpp"

namespace carpool::predict {
namespace {

using fake::FakeAnswers;
using fake::FakeWorkload;
using fake::FakeWorld;
using fake::random_workloads;

using Workloads = std::vector<FakeWorkload>;

Group group_of(std::size_t members) {
  Group group;
  for (std::size_t i = 0; i < members; ++i) {
    group.push_back({.profile = i});
  }
  return group;
}

std::vector<double> limits_of(const Group& group) {
  std::vector<double> limits;
  for (const GroupMember& member : group) {
    limits.push_back(member.thread_limit);
  }
  return limits;
}

TEST(UsualPartitions, AllThreadsAndEveryWayToDivideHundredPercent) {
  EXPECT_EQ(usual_partitions(1), (std::vector<ThreadLimits>{{100.0}}));
  const auto pairs = usual_partitions(2);
  EXPECT_EQ(pairs.size(), 10U);
  EXPECT_EQ(pairs[0], (ThreadLimits{100.0, 100.0}));
  EXPECT_EQ(pairs[1], (ThreadLimits{10.0, 90.0}));
  EXPECT_EQ(pairs[9], (ThreadLimits{90.0, 10.0}));
  EXPECT_EQ(usual_partitions(3).size(), 1U + 36U);  // 9 choose 2 ways
  EXPECT_EQ(usual_partitions(11).size(), 1U);
}

// Without other members each limit below 100 only costs, so all threads are best.
TEST(PartitionChoiceTest, SoloWorkloadKeepsAllThreads) {
  const FakeWorld world(Workloads{{.capacity = 3.0}});
  const auto choice =
      choose_partition(world.predictor(), group_of(1), {}, usual_partitions(1)).value();
  EXPECT_EQ(limits_of(choice.group), (std::vector<double>{100.0}));
  EXPECT_DOUBLE_EQ(choice.gain_over_unlimited(), 0.0);
}

TEST(PartitionChoiceTest, FindsTheBestOfEveryCandidate) {
  const FakeWorld world(random_workloads(3, 5));
  const Objective objective = {.kind = ObjectiveKind::MaxMin};
  const auto partitions = usual_partitions(3);
  const auto choice =
      choose_partition(world.predictor(), group_of(3), objective, partitions).value();
  double best = 0.0;
  for (const ThreadLimits& limits : partitions) {
    const Group group = {{0, limits[0]}, {1, limits[1]}, {2, limits[2]}};
    const auto prediction = world.predictor().predict(group).value();
    best = std::max(best,
                    std::ranges::min(prediction.members, {}, &MemberPrediction::progress).progress);
  }
  EXPECT_NEAR(choice.score.value, best, 1e-12);
  EXPECT_GT(choice.gain_over_unlimited(), 0.0);
  EXPECT_TRUE(choice.forecast.sum_interval90.has_value());
}

// A heavy and a starved member: limiting the heavy one must help the smallest progress.
TEST(PartitionChoiceTest, MaxMinGivesTheStarvedMemberMore) {
  const FakeWorld world(Workloads{{.pressure = 2.0, .need = 6.0}, {.pressure = -1.0, .need = 6.0}});
  const Objective objective = {.kind = ObjectiveKind::MaxMin};
  const auto choice =
      choose_partition(world.predictor(), group_of(2), objective, usual_partitions(2)).value();
  EXPECT_LT(choice.group[0].thread_limit, choice.group[1].thread_limit);
  EXPECT_GT(choice.gain_over_unlimited(), 0.1);
}

// need = 1e3: beyond any grid point the curve is flat, so every partition scores the same.
TEST(PartitionChoiceTest, AmongEqualsThePartitionClosestToAllThreadsWins) {
  const FakeWorld world(Workloads{{.need = 1e3}, {.need = 1e3}});
  const auto choice =
      choose_partition(world.predictor(), group_of(2), {}, usual_partitions(2)).value();
  EXPECT_EQ(limits_of(choice.group), (std::vector<double>{100.0, 100.0}));
}

TEST(PartitionChoiceTest, OnlyCandidatesAreChosen) {
  const FakeWorld world(Workloads{{.pressure = 2.0}, {.pressure = -1.0}});
  const std::vector<ThreadLimits> partitions = {{50.0, 50.0}, {30.0, 70.0}, {70.0, 30.0}};
  const Objective objective = {.kind = ObjectiveKind::MaxMin};
  const auto choice =
      choose_partition(world.predictor(), group_of(2), objective, partitions).value();
  EXPECT_EQ(limits_of(choice.group), (std::vector<double>{30.0, 70.0}));
  EXPECT_GT(choice.gain_over_equal(), 0.0);
}

TEST(PartitionChoiceTest, FloorThatNoPartitionKeepsGivesTheNearestMarkedInfeasible) {
  const FakeWorld world(Workloads{{.pressure = 0.0}, {.pressure = 0.0}});
  const Objective objective = {.floor = 0.99};
  const auto choice =
      choose_partition(world.predictor(), group_of(2), objective, usual_partitions(2)).value();
  EXPECT_FALSE(choice.score.feasible);
  const auto fair =
      choose_partition(
          world.predictor(), group_of(2), {.kind = ObjectiveKind::MaxMin}, usual_partitions(2))
          .value();
  EXPECT_NEAR(choice.score.worst_progress.value(), fair.score.value, 1e-12);
}

TEST(PartitionChoiceTest, BadRequestsAreRefused) {
  const FakeWorld world(Workloads{{}, {}});
  const auto error = [&](const Group& group, const std::vector<ThreadLimits>& partitions) {
    const auto choice = choose_partition(world.predictor(), group, {}, partitions);
    return choice ? "accepted" : choice.error().message;
  };
  EXPECT_EQ(error({}, usual_partitions(2)), "a group needs at least one workload");
  EXPECT_EQ(error(group_of(2), {}), "no MPS partition to choose from");
  EXPECT_EQ(error(group_of(2), {{50.0}}), "an MPS partition has 1 limits for 2 members");
  EXPECT_EQ(error(group_of(2), {{0.0, 50.0}}), "thread limit 0: must be above 0 and at most 100 %");
  EXPECT_EQ(error(group_of(2), {{50.0, 150.0}}),
            "thread limit 150: must be above 0 and at most 100 %");
  const FakeWorld sums(Workloads{{}, {}}, FakeAnswers::SumOnly);
  EXPECT_FALSE(
      choose_partition(
          sums.predictor(), group_of(2), {.kind = ObjectiveKind::MaxMin}, usual_partitions(2))
          .has_value());
}

}  // namespace
}  // namespace carpool::predict
