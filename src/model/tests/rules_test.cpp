#include "model/rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "model/tests/kace_data.hpp"

namespace carpool::model {
namespace {

struct PublishedRule {
  std::string_view name;
  std::string_view in_artifact;
  double mean;  // per cent, at n_occur 3

  friend std::ostream& operator<<(std::ostream& out, const PublishedRule& rule) {
    return out << rule.name;
  }
};

constexpr std::array<PublishedRule, 5> kPublishedRules = {{
    {"memcap", "rule:memcap", 78.5},
    {"sm-busy", "rule:sm%", 35.4},
    {"mem-busy", "rule:mem%", 71.8},
    {"sm-throughput", "rule:Compute (SM) Throughput", 87.1},
    {"exclusive-throughput", "rule:exclusive_throughput", 83.0},
}};

using Scores = std::map<std::string, double>;  // by target

// Infinite when the targets are not the same.
double largest_difference(const Scores& left, const Scores& right) {
  double largest = left.size() == right.size() ? 0.0 : std::numeric_limits<double>::infinity();
  for (const auto& [target, score] : left) {
    const auto other = right.find(target);
    const double difference = other == right.end() ? std::numeric_limits<double>::infinity()
                                                   : std::abs(score - other->second);
    largest = std::max(largest, difference);
  }
  return largest;
}

Scores scores_of(const PublishedRule& published, const dataset::Split& split) {
  const Rule& rule = *value_or_throw(find_rule(published.name));
  Scores scores;
  for (const auto& [target, choice] : choices_of(split)) {
    const auto preferences =
        value_or_throw(rule_preferences(rule, kace_data().dataset.profiles, choice.candidates));
    scores[target] = choice.score(preferences);
  }
  return scores;
}

// The artifact's own results, by policy, n_occur and seed.
std::map<std::string, Scores> artifact_scores() {
  std::map<std::string, Scores> scores;
  for (const std::vector<std::string>& fields : read_expected("reference_results.csv")) {
    if (fields[0] == "pairs_n_occur") {
      scores[fmt::format("{} {:.0f} {}", fields[4], std::stod(fields[1]), fields[2])][fields[3]] =
          std::stod(fields[5]);
    }
  }
  return scores;
}

class PublishedRules : public testing::TestWithParam<PublishedRule> {};

INSTANTIATE_TEST_SUITE_P(All, PublishedRules, testing::ValuesIn(kPublishedRules));

TEST_P(PublishedRules, ScoreAsPublishedForEveryTargetAndSplit) {
  const auto expected = artifact_scores();
  for (int n_occur = 2; n_occur <= 10; ++n_occur) {
    for (const std::uint32_t seed : kPublishedSeeds) {
      const dataset::Split split = dataset::n_occur_split(kace_data().pairs, n_occur, seed);
      const Scores& published =
          expected.at(fmt::format("{} {} {}", GetParam().in_artifact, n_occur, seed));
      EXPECT_LT(largest_difference(scores_of(GetParam(), split), published), 1e-6) << split.label;
    }
  }
}

TEST_P(PublishedRules, HaveThePublishedMean) {
  double mean = 0.0;
  for (const std::uint32_t seed : kPublishedSeeds) {
    const Scores scores = scores_of(GetParam(), dataset::n_occur_split(kace_data().pairs, 3, seed));
    for (const auto& [target, score] : scores) {
      mean += score / static_cast<double>(scores.size() * kPublishedSeeds.size());
    }
  }
  EXPECT_NEAR(100.0 * mean, GetParam().mean, 0.05);
}

// Busy shares are averaged, memory is added up and counts against a group.
TEST(Rules, CombineTheMembersOfAGroup) {
  Profile a;
  a.metrics = {{"sm_busy_pct", 60.0}, {"memcap_gb", 2.0}};
  Profile b;
  b.metrics = {{"sm_busy_pct", 20.0}, {"memcap_gb", 3.0}};
  const std::vector<Profile> profiles = {a, b};
  const std::vector<Group> pair = {{{.profile = 0}, {.profile = 1}}};
  const auto preference = [&](std::string_view rule) {
    return value_or_throw(rule_preferences(*value_or_throw(find_rule(rule)), profiles, pair))[0];
  };
  EXPECT_DOUBLE_EQ(preference("sm-busy"), 40.0);
  EXPECT_DOUBLE_EQ(preference("memcap"), -5.0);
}

TEST(Rules, SayWhichMetricIsMissing) {
  const std::vector<Profile> profiles(1);
  const std::vector<Group> alone = {{{.profile = 0}}};
  const auto preferences =
      rule_preferences(*value_or_throw(find_rule("mem-busy")), profiles, alone);
  ASSERT_FALSE(preferences.has_value());
  EXPECT_EQ(preferences.error().code, ErrorCode::Unsupported);
  EXPECT_NE(preferences.error().message.find("mem_busy_pct"), std::string::npos);
  EXPECT_TRUE(rule_preferences(*value_or_throw(find_rule("exclusive-throughput")), profiles, alone)
                  .has_value());
}

TEST(Rules, ThatNeedTheTruthHaveNoPreferences) {
  for (const std::string_view name : {"best-rule", "random", "oracle"}) {
    const Rule& rule = *value_or_throw(find_rule(name));
    EXPECT_TRUE(rule.needs_truth);
    EXPECT_FALSE(rule_preferences(rule, kace_data().dataset.profiles, {}).has_value()) << name;
  }
}

TEST(Rules, NameTheKnownOnesWhenOneIsUnknown) {
  const auto rule = find_rule("memcaps");
  ASSERT_FALSE(rule.has_value());
  EXPECT_NE(rule.error().message.find("exclusive-throughput"), std::string::npos);
}

}  // namespace
}  // namespace carpool::model
