#include "evaluate/pairing.hpp"

#include <gtest/gtest.h>

#include "evaluate/repeats.hpp"

namespace carpool::evaluate {
namespace {

dataset::GroupRow pair(std::size_t a, std::size_t b, double first, double second) {
  return {.id = 0, .members = {{.profile = a}, {.profile = b}}, .throughput = {first, second}};
}

// Four workloads with a solo speed of 10 units/s, and the measured speeds of each pair.
class PairingScore : public testing::Test {
 protected:
  PairingScore() {
    for (const char* name : {"a", "b", "c", "d"}) {
      Profile profile;
      profile.workload = name;
      profile.exclusive_throughput = 10.0;
      dataset_.profiles.push_back(profile);
    }
    trial_.training = {pair(0, 1, 9, 9), pair(2, 3, 9, 9), pair(0, 2, 8, 8)};
    trial_.test = {pair(1, 3, 8, 8), pair(0, 3, 5, 5), pair(1, 2, 5, 5)};
  }

  dataset::Dataset dataset_;
  Trial trial_;
};

// Prefers the given pairs.
class Preferring final : public model::Forecaster {
 public:
  explicit Preferring(std::vector<std::pair<std::size_t, std::size_t>> liked)
      : liked_(std::move(liked)) {}

  [[nodiscard]] std::vector<GroupForecast> forecast(
      std::span<const Group> candidates, model::ForecastDetail /*detail*/) const override {
    std::vector<GroupForecast> out(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      for (const auto& [a, b] : liked_) {
        const bool same = candidates[i][0].profile == a && candidates[i][1].profile == b;
        out[i].preference += same ? 1.0 : 0.0;
      }
    }
    return out;
  }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> liked_;
};

predict::Objective normalized() {
  return {.kind = predict::ObjectiveKind::Normalized};
}

TEST_F(PairingScore, IsOneForTheBestPairs) {
  const Preferring best({{0, 1}, {2, 3}});
  EXPECT_DOUBLE_EQ(*pairing_score(dataset_, normalized(), trial_, best), 1.0);
}

TEST_F(PairingScore, IsTheMeasuredTotalOverTheBest) {
  // a+c and b+d: 1.6 + 1.6 of 1.8 + 1.8.
  const Preferring second({{0, 2}, {1, 3}});
  EXPECT_DOUBLE_EQ(*pairing_score(dataset_, normalized(), trial_, second), 3.2 / 3.6);
}

TEST_F(PairingScore, IsNothingWhereItWouldMeanNothing) {
  const Preferring any({});
  EXPECT_FALSE(
      pairing_score(dataset_, {.kind = predict::ObjectiveKind::MaxMin}, trial_, any).has_value());
  // d has no measured pair.
  trial_.training = {pair(0, 1, 9, 9)};
  trial_.test = {pair(0, 2, 9, 9)};
  EXPECT_FALSE(pairing_score(dataset_, normalized(), trial_, any).has_value());
}

TEST(Repeats, AreAveragedWhateverTheOrderOfTheMembers) {
  const dataset::GroupTable table{
      .name = "pairs",
      .group_size = 2,
      .rows = {pair(0, 1, 10, 20), pair(1, 0, 22, 12), pair(0, 2, 1, 1)}};
  const dataset::GroupTable merged = average_repeats(table);
  ASSERT_EQ(merged.rows.size(), 2U);
  EXPECT_EQ(merged.rows[0].throughput, (std::vector<double>{11, 21}));
  EXPECT_EQ(merged.rows[1].throughput, (std::vector<double>{1, 1}));
}

TEST(Repeats, TellTheNoise) {
  // |12 - 10| / 11 and |22 - 20| / 21; the third pair was measured once.
  const dataset::GroupTable table{
      .name = "pairs",
      .group_size = 2,
      .rows = {pair(0, 1, 10, 20), pair(1, 0, 22, 12), pair(0, 2, 1, 1)}};
  const auto noise = noise_of(table);
  ASSERT_TRUE(noise.has_value());
  EXPECT_EQ(noise->groups, 1U);
  EXPECT_DOUBLE_EQ(noise->member_mean, (2.0 / 11.0 + 2.0 / 21.0) / 2.0);
  EXPECT_DOUBLE_EQ(noise->member_median, (2.0 / 11.0 + 2.0 / 21.0) / 2.0);
}

TEST(Repeats, SayNothingOfGroupsMeasuredOnce) {
  EXPECT_FALSE(
      noise_of({.name = "pairs", .group_size = 2, .rows = {pair(0, 1, 10, 20)}}).has_value());
}

}  // namespace
}  // namespace carpool::evaluate
