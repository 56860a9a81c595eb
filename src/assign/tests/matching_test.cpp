#include "assign/matching.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "assign/dense_matching.hpp"
#include "assign/subset_search.hpp"

namespace carpool::assign {
namespace {

// Heaviest perfect matching by trying all: vertex 0 with each other, then the rest.
double heaviest(const PairWeights& weights, std::vector<std::size_t> left) {
  if (left.empty()) {
    return 0.0;
  }
  double best = -1e300;
  for (std::size_t i = 1; i < left.size(); ++i) {
    std::vector<std::size_t> rest = left;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    rest.erase(rest.begin());
    best = std::max(best, weights.at(left[0], left[i]).value + heaviest(weights, rest));
  }
  return best;
}

double weight_of(const PairWeights& weights, const std::vector<int>& partner) {
  double total = 0.0;
  for (std::size_t i = 0; i < partner.size(); ++i) {
    const auto other = static_cast<std::size_t>(partner[i]);
    EXPECT_EQ(partner[other], static_cast<int>(i));
    total += i < other ? weights.at(i, other).value : 0.0;
  }
  return total;
}

// Two triangles joined by one edge: the joint must be taken although it weighs least.
//   0-1-2 with weights 10, joint 2-3 with 1, 3-4-5 with weights 10: best 10 + 1 + 10.
TEST(MatchingTest, OddCyclesShareTheirJoint) {
  const std::vector<MatchingEdge> edges = {
      {0, 1, 10}, {1, 2, 10}, {0, 2, 10}, {2, 3, 1}, {3, 4, 10}, {4, 5, 10}, {3, 5, 10}};
  const auto matching = max_weight_perfect_matching(6, edges);
  ASSERT_TRUE(matching.has_value());
  EXPECT_EQ(matching->partner, (std::vector<int>{1, 0, 3, 2, 5, 4}));
  for (const MatchingEdge& edge : edges) {
    std::int64_t dual = matching->vertex_dual[static_cast<std::size_t>(edge.first)] +
                        matching->vertex_dual[static_cast<std::size_t>(edge.second)];
    for (const PerfectMatching::Blossom& blossom : matching->blossoms) {
      const auto holds = [&](int vertex) {
        return std::ranges::find(blossom.vertices, vertex) != blossom.vertices.end();
      };
      dual += holds(edge.first) && holds(edge.second) ? blossom.dual : 0;
    }
    EXPECT_GE(dual, matching->dual_scale * edge.weight);
  }
}

TEST(MatchingTest, StarHasNoPerfectMatching) {
  EXPECT_FALSE(max_weight_perfect_matching(4, {{0, 1, 1}, {0, 2, 1}, {0, 3, 1}}).has_value());
  EXPECT_EQ(max_matching_size(4, {{0, 1}, {0, 2}, {0, 3}}), 1);
  EXPECT_EQ(max_matching_size(4, {{0, 1}, {0, 2}, {2, 3}}), 2);
}

TEST(DenseMatchingTest, AgreesWithTryingEveryMatching) {
  std::mt19937 engine(7);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t vertices = 2 * (1 + engine() % 5);
    PairWeights weights(vertices);
    for (std::size_t j = 1; j < vertices; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        // Few different values: ties are the hard case.
        weights.at(i, j).value = static_cast<double>(engine() % (trial % 2 == 0 ? 4 : 1000));
      }
    }
    std::vector<std::size_t> all(vertices);
    std::iota(all.begin(), all.end(), std::size_t{0});
    EXPECT_NEAR(weight_of(weights, dense_perfect_matching(weights)), heaviest(weights, all), 0.01);
  }
}

TEST(DenseMatchingTest, RankDecidesBeforeValue) {
  PairWeights weights(4);
  weights.at(0, 1) = {.value = 1000.0, .rank = 0};
  weights.at(2, 3) = {.value = 0.0, .rank = 2};
  weights.at(0, 2) = {.value = 1.0, .rank = 0};
  weights.at(1, 3) = {.value = 0.0, .rank = 1};
  weights.at(0, 3) = {.value = 0.0, .rank = 1};
  weights.at(1, 2) = {.value = 0.0, .rank = 1};
  // {01, 23} breaks a rule, {03, 12} needs two last resorts, {02, 13} only one.
  EXPECT_EQ(dense_perfect_matching(weights), (std::vector<int>{2, 3, 0, 1}));
}

TEST(DenseMatchingTest, EqualWeightsAndNoVerticesAreFine) {
  EXPECT_TRUE(dense_perfect_matching(PairWeights(0)).empty());
  EXPECT_EQ(dense_perfect_matching(PairWeights(2)), (std::vector<int>{1, 0}));
  const std::vector<int> matching = dense_perfect_matching(PairWeights(50));
  ASSERT_EQ(matching.size(), 50U);
  EXPECT_EQ(weight_of(PairWeights(50), matching), 0.0);  // checks that partners agree
}

// Three members worth 1 each as singles; {0, 1} together 3, {1, 2} together 2.5.
TEST(SubsetSearchTest, TakesTheBestGroupingForTheNumberOfGroups) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const std::vector<double> values = {0.0, 1.0, 1.0, 3.0, 1.0, kNever, 2.5, kNever};
  EXPECT_EQ(best_grouping(3, 3, values), (std::vector<MemberSet>{0b011, 0b100}));
  EXPECT_EQ(best_grouping(3, 2, values), (std::vector<MemberSet>{0b011, 0b100}));
  // One group: two members are placed, in the better of the two ways.
  EXPECT_EQ(best_grouping(3, 1, values), (std::vector<MemberSet>{0b011}));
}

TEST(SubsetSearchTest, PlacingMoreCountsMoreThanValue) {
  // Member 0 is worth 100 as a single and -5 with member 1: still both are placed.
  EXPECT_EQ(best_grouping(2, 1, std::vector<double>{0.0, 100.0, 1.0, -5.0}),
            (std::vector<MemberSet>{0b11}));
  EXPECT_TRUE(best_grouping(0, 3, std::vector<double>{0.0}).empty());
}

}  // namespace
}  // namespace carpool::assign
