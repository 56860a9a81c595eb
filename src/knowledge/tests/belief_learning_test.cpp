// What is learned of workloads that follow a law of their own.
#include <cmath>

#include <gtest/gtest.h>

#include "knowledge/beliefs.hpp"
#include "knowledge/tests/synthetic_truth.hpp"

namespace carpool::knowledge {
namespace {

using fake::SyntheticTruth;
using fake::watch;

constexpr std::uint32_t kSeeds = 40;
constexpr std::size_t kWorkloads = 10;

// Mean absolute error of predicted progress over groups of two to four.
double error_of(const Beliefs& beliefs, SyntheticTruth& truth) {
  double sum = 0.0;
  std::size_t count = 0;
  for (int n = 0; n < 40; ++n) {
    const auto group = truth.any_group(2, 4);
    std::vector<InterferenceMember> named;
    named.reserve(group.size());
    for (const std::size_t workload : group) {
      named.push_back({.workload = SyntheticTruth::name(workload)});
    }
    const auto predicted = beliefs.progress(named);
    const auto actual = truth.progress(group);
    for (std::size_t i = 0; i < group.size(); ++i) {
      sum += std::abs(predicted[i] - actual[i]);
      ++count;
    }
  }
  return sum / static_cast<double>(count);
}

TEST(BeliefLearning, PredictsBetterWithEveryChangeOfAGroup) {
  double blind = 0.0;
  double active = 0.0;
  double early = 0.0;
  double late = 0.0;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    SyntheticTruth truth(seed, kWorkloads);
    Beliefs beliefs;
    blind += error_of(beliefs, truth) / kSeeds;
    double now_s = 0.0;
    for (std::size_t i = 0; i < kWorkloads; ++i) {
      now_s = truth.run(beliefs, {i}, now_s, 20.0);
    }
    active += error_of(beliefs, truth) / kSeeds;
    for (int change = 0; change < 10; ++change) {
      now_s = truth.run(beliefs, truth.any_group(2, 4), now_s, 20.0);
    }
    early += error_of(beliefs, truth) / kSeeds;
    for (int change = 0; change < 40; ++change) {
      now_s = truth.run(beliefs, truth.any_group(2, 4), now_s, 20.0);
    }
    late += error_of(beliefs, truth) / kSeeds;
  }
  RecordProperty("blind", std::to_string(blind));
  RecordProperty("active", std::to_string(active));
  RecordProperty("early", std::to_string(early));
  RecordProperty("late", std::to_string(late));
  EXPECT_GT(blind, 0.25);
  EXPECT_LT(active, 0.12);
  EXPECT_LT(early, 0.05);
  EXPECT_LT(late, 0.025);
}

TEST(BeliefLearning, NeedsNoSoloRuns) {
  double blind = 0.0;
  double counters = 0.0;
  double activity_error = 0.0;
  double late = 0.0;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    SyntheticTruth truth(seed, kWorkloads);
    Beliefs beliefs;
    Beliefs only_counters;
    blind += error_of(beliefs, truth) / kSeeds;
    double now_s = 0.0;
    for (int change = 0; change < 60; ++change) {
      const auto group = truth.any_group(2, 4);
      (void)truth.run(only_counters, group, now_s, 20.0, false);
      now_s = truth.run(beliefs, group, now_s, 20.0);
    }
    counters += error_of(only_counters, truth) / kSeeds;
    for (std::size_t i = 0; i < kWorkloads; ++i) {
      const auto belief = *only_counters.belief(SyntheticTruth::name(i));
      activity_error += std::abs(belief.sm_active - truth.activity(i)) / (kSeeds * kWorkloads);
    }
    late += error_of(beliefs, truth) / kSeeds;
  }
  RecordProperty("counters", std::to_string(counters));
  RecordProperty("late", std::to_string(late));
  EXPECT_LT(counters, 0.7 * blind);
  EXPECT_LT(activity_error, 0.18);
  EXPECT_LT(late, 0.45 * blind);
}

TEST(BeliefLearning, IntervalsCoverNineTenths) {
  Coverage sum;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    SyntheticTruth truth(1000 + seed, kWorkloads);
    Beliefs beliefs;
    double now_s = 0.0;
    for (std::size_t i = 0; i < kWorkloads; ++i) {
      now_s = truth.run(beliefs, {i}, now_s, 10.0);
    }
    for (int change = 0; change < 60; ++change) {
      now_s = truth.run(beliefs, truth.any_group(1, 4), now_s, 15.0);
    }
    sum.inside += beliefs.coverage().inside;
    sum.all += beliefs.coverage().all;
  }
  const double covered = static_cast<double>(sum.inside) / static_cast<double>(sum.all);
  RecordProperty("covered", std::to_string(covered));
  EXPECT_GT(sum.all, 4000U);
  EXPECT_GE(covered, 0.85);
  EXPECT_LE(covered, 0.95);
}

TEST(BeliefLearning, ActivityIsGoodAfterTwentySeconds) {
  double after5 = 0.0;
  double after20 = 0.0;
  std::size_t covered = 0;
  constexpr std::uint32_t kRuns = 400;
  for (std::uint32_t seed = 0; seed < kRuns; ++seed) {
    SyntheticTruth truth(seed, 1);
    Beliefs beliefs;
    truth.run(beliefs, {0}, 0.0, 5.0);
    after5 += std::abs(beliefs.belief(SyntheticTruth::name(0))->sm_active - truth.activity(0));
    Beliefs longer;
    truth.run(longer, {0}, 0.0, 20.0);
    const auto belief = *longer.belief(SyntheticTruth::name(0));
    after20 += std::abs(belief.sm_active - truth.activity(0));
    covered +=
        belief.sm_active90.low <= truth.activity(0) && truth.activity(0) <= belief.sm_active90.high
            ? 1
            : 0;
  }
  EXPECT_LT(after5 / kRuns, 0.07);
  EXPECT_LT(after20 / kRuns, 0.03);
  EXPECT_GE(covered, kRuns * 85 / 100);
}

}  // namespace
}  // namespace carpool::knowledge
