#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "model/limits/limit_factor.hpp"
#include "model/limits/limit_population.hpp"
#include "model/limits/overlap.hpp"

namespace carpool::model {
namespace {

// Three workloads that differ in everything.
constexpr std::array<ShareParameters, 3> kShare{
    {{3.0, -0.4, 0.2}, {2.0, 0.5, -0.1}, {4.0, 0.1, 0.6}}};
constexpr std::array<LimitParameters, 3> kLimits{
    {{0.7, -2.0, 0.3, 0.25}, {1.5, -2.4, 0.8, 0.1}, {-1.0, -3.0, -1.5, 0.3}}};

std::vector<LimitTraits> traits() {
  std::vector<LimitTraits> all;
  all.reserve(kShare.size());
  for (std::size_t i = 0; i < kShare.size(); ++i) {
    all.push_back(limit_traits(kShare[i], kLimits[i]));
  }
  return all;
}

std::vector<double> factors(const Group& group) {
  std::vector<double> out(group.size());
  log_limit_factors(traits(), group, out);
  return out;
}

TEST(Overlap, OfTwoIsWhatExceedsTheWhole) {
  // w_12 = (p1 + p2 - 1) / p1 for p1 + p2 > 1, else 0.
  const Group group{{0, 70}, {1, 60}};
  const double rate = overlap_rate(group);
  EXPECT_NEAR(overlap(rate, 0.6), 0.3 / 0.7, 1e-12);
  EXPECT_NEAR(overlap(rate, 0.7), 0.3 / 0.6, 1e-12);
  EXPECT_EQ(overlap_rate({{0, 30}, {1, 60}}), 0.0);
  EXPECT_NEAR(overlap_rate({{0, 30}, {1, 70}}), 0.0, 1e-12);
}

TEST(Overlap, OfASmallMemberBesideAWholeOneIsComplete) {
  const double rate = overlap_rate({{0, 100}, {1, 10}});
  EXPECT_NEAR(overlap(rate, 1.0), 1.0, 1e-12);  // all of the small one's
  EXPECT_NEAR(overlap(rate, 0.1), 0.1, 1e-12);  // a tenth of the whole one's
}

TEST(Overlap, OfThreeHalvesStacksHalfOfTheGpuTwice) {
  // P = 1.5: M = 1, f = 0.5, A = 0 + 0.5; the three products sum to 0.75; w = A / 0.75 * 0.5 = 1/3.
  const double rate = overlap_rate({{0, 50}, {1, 50}, {2, 50}});
  EXPECT_NEAR(overlap(rate, 0.5), 1.0 / 3.0, 1e-12);
}

TEST(Overlap, OfUnlimitedMembersIsExactlyOne) {
  for (std::size_t members = 2; members <= 8; ++members) {
    EXPECT_EQ(overlap(overlap_rate(Group(members)), 1.0), 1.0) << members;
  }
  EXPECT_EQ(overlap_rate(Group(1)), 0.0);
}

TEST(LimitFactor, IsExactlyZeroWithoutLimits) {
  EXPECT_EQ(factors({{0, 100}}), std::vector<double>({0.0}));
  EXPECT_EQ(factors({{0, 100}, {1, 100}}), std::vector<double>({0.0, 0.0}));
  EXPECT_EQ(factors({{2, 100}, {0, 100}, {0, 100}}), std::vector<double>({0.0, 0.0, 0.0}));
}

TEST(LimitFactor, OfASoloRunFollowsTheSerialAndParallelTimes) {
  // s(p) = p (1 + k) / (p + k) with k = exp(0.7) and p = 0.3.
  const double k = std::exp(0.7);
  EXPECT_NEAR(factors({{0, 30}})[0], std::log(0.3 * (1 + k) / (0.3 + k)), 1e-12);
}

TEST(LimitFactor, OfDisjointMembersHasMemoryContentionInPlaceOfSharing) {
  // 30 % and 60 % do not meet: w = 0, W = 0, so
  //   T_0 = s_0(0.3) exp(c_0 - a_0) / (1 + exp(G_0 + h_1) s_1(0.6)), against
  //   T_0 = exp(c_0) / (1 + exp(b_1 - b_0 - d_0)) at 100 % each.
  const auto speed_left = [](double p, double k) { return p * (1 + k) / (p + k); };
  const double limited = std::log(speed_left(0.3, std::exp(0.7))) - 0.25 -
                         std::log1p(std::exp(-2.0 + 0.8) * speed_left(0.6, std::exp(1.5)));
  const double unlimited = -std::log1p(std::exp(0.5 + 0.4 - 0.2));
  EXPECT_NEAR(factors({{0, 30}, {1, 60}})[0], limited - unlimited, 1e-12);
}

TEST(LimitFactor, OfOverlappingMembersMixesBothByTheOverlap) {
  // 70 % and 60 %: w_01 = 3/7, and T_0 has D = 1 + w exp(b_1 - b_0 - d_0) + (1 - w) exp(G_0 + h_1)
  // s_1(0.6) and exp(c_0 - (1 - w) a_0).
  const auto speed_left = [](double p, double k) { return p * (1 + k) / (p + k); };
  const double w = 3.0 / 7.0;
  const double shared = std::exp(0.5 + 0.4 - 0.2);
  const double traffic = std::exp(-2.0 + 0.8) * speed_left(0.6, std::exp(1.5));
  const double limited = std::log(speed_left(0.7, std::exp(0.7))) - (1 - w) * 0.25 -
                         std::log(1 + w * shared + (1 - w) * traffic);
  EXPECT_NEAR(factors({{0, 70}, {1, 60}})[0], limited + std::log1p(shared), 1e-12);
}

TEST(LimitFactor, RisesWithTheOwnLimitOfADisjointMember) {
  for (std::size_t own = 0; own < 3; ++own) {
    const std::size_t second = (own + 1) % 3;
    const std::size_t third = (own + 2) % 3;
    double before = -std::numeric_limits<double>::infinity();
    for (double limit = 1; limit <= 60; limit += 1) {
      const double now = factors({{own, limit}, {second, 15}, {third, 25}})[0];
      EXPECT_GT(now, before) << "member " << own << " at " << limit << " %";
      before = now;
    }
  }
}

TEST(LimitFactor, DoesNotDependOnTheOrderOfMembers) {
  const auto forward = factors({{0, 40}, {1, 50}, {2, 30}});
  const auto backward = factors({{2, 30}, {1, 50}, {0, 40}});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(forward[i], backward[2 - i], 1e-12);
  }
}

TEST(LogSolo, IsTheCapacityMinusTheSharingGain) {
  EXPECT_DOUBLE_EQ(log_solo(kShare[0], kLimits[0]), 2.75);
}

TEST(LimitPopulation, ExpectsLinearlyAroundItsCentre) {
  const LimitPopulation& v100 = shipped_population();
  const LimitParameters at_centre = v100.expect({1.0, v100.centre.weight, v100.centre.headroom});
  EXPECT_DOUBLE_EQ(at_centre.log_parallelism, 0.74);
  EXPECT_DOUBLE_EQ(at_centre.log_sensitivity, -2.45);
  EXPECT_DOUBLE_EQ(at_centre.log_pressure, 0.0);
  EXPECT_DOUBLE_EQ(at_centre.sharing_gain, 0.14);
  const LimitParameters heavier =
      v100.expect({1.0, v100.centre.weight + 1.0, v100.centre.headroom - 0.5});
  EXPECT_NEAR(heavier.log_parallelism, 0.74 + 0.71 + 0.5 * 0.91, 1e-12);
  EXPECT_NEAR(heavier.log_pressure, 0.28 + 0.5 * 1.67, 1e-12);
}

TEST(LimitPopulation, PredictsTheSameAroundAnotherCentre) {
  const LimitPopulation& v100 = shipped_population();
  const LimitPopulation moved = v100.recentred({.weight = 0.4, .headroom = -0.2});
  const ShareParameters first{1.0, 0.7, 0.1};
  const ShareParameters second{2.0, -0.3, 0.4};
  EXPECT_NEAR(moved.expect(first).log_parallelism, v100.expect(first).log_parallelism, 1e-12);
  // Speeds depend on the sensitivity of one and the pressure of the other together.
  EXPECT_NEAR(moved.expect(first).log_sensitivity + moved.expect(second).log_pressure,
              v100.expect(first).log_sensitivity + v100.expect(second).log_pressure,
              1e-12);
}

}  // namespace
}  // namespace carpool::model
