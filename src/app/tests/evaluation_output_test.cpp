#include "app/output/evaluation_output.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/report/report_sections.hpp"
#include "app/tests/fixtures.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

// Two targets, two train/test splits. Target a: share scores 1 and 0.5, the rule 0.75 twice: a tie.
// Target b: share wins with 0.9 against 0.8. The oracle is never counted as best.
class EvaluationOutput : public testing::Test {
 protected:
  EvaluationOutput() {
    dataset_.folder = "/data/small";
    dataset_.profiles.resize(2);
    dataset_.profiles[0].workload = "a";
    dataset_.profiles[1].workload = "b";
    plan_.protocol = "pairs-n-occur";
    plan_.description = "Two splits of two pairs";
    plan_.trials.resize(2);
    plan_.trials[0].label = "seed 1";
    plan_.trials[0].test = {
        {.id = 7, .members = {{.profile = 0}, {.profile = 1}}, .throughput = {}}};
    plan_.trials[1].label = "seed 2";
    evaluate::PolicyResult share;
    share.name = "share";
    share.group_size = 2;
    share.score_mean = 0.825;
    share.score_sd = 0.0126;
    share.score_worst = 0.7;
    share.mape_sum = 0.0521;
    share.mape_member = 0.06;
    share.r2 = 0.98765;
    share.spearman = 0.9;
    share.coverage90 = 0.91;
    share.width90 = 0.333;
    share.floor_violations = 0.0;
    share.train_seconds = 0.0021;
    share.splits = 2;
    share.choices = {{.trial = 0, .target = 0, .chosen = 7, .score = 1.0},
                     {.trial = 1, .target = 0, .chosen = std::nullopt, .score = 0.5},
                     {.trial = 0, .target = 1, .chosen = 7, .score = 0.9}};
    evaluate::PolicyResult rule;
    rule.name = "sm-busy";
    rule.score_mean = 0.775;
    rule.score_worst = 0.75;
    rule.splits = 2;
    rule.choices = {{.trial = 0, .target = 0, .chosen = std::nullopt, .score = 0.75},
                    {.trial = 1, .target = 0, .chosen = std::nullopt, .score = 0.75},
                    {.trial = 0, .target = 1, .chosen = std::nullopt, .score = 0.8}};
    evaluate::PolicyResult oracle;
    oracle.name = "oracle";
    oracle.score_mean = 1.0;
    oracle.score_worst = 1.0;
    oracle.splits = 2;
    oracle.choices = {{.trial = 0, .target = 0, .chosen = std::nullopt, .score = 1.0},
                      {.trial = 0, .target = 1, .chosen = std::nullopt, .score = 1.0}};
    results_ = {share, rule, oracle};
  }

  [[nodiscard]] EvaluationListing listing() const {
    return {.dataset = dataset_, .plan = plan_, .results = results_};
  }
  [[nodiscard]] std::string table(bool quiet = true) const {
    return printed([&](const Output& output) { print_evaluation(listing(), output); },
                   {.quiet = quiet, .colour = "never"});
  }

  dataset::Dataset dataset_;
  evaluate::EvaluationPlan plan_;
  std::vector<evaluate::PolicyResult> results_;
};

TEST_F(EvaluationOutput, EachPolicyHasALineWithADashForWhatItDoesNotPredict) {
  EXPECT_EQ(with_bars(table()),
            "Two splits of two pairs\n"
            "policy | score [%] | sd | worst | MAPE sum [%] | member [%] | R² | Spearman | "
            "covered [%] | width [%] | floor violated [%] | train [ms]\n"
            "share | 82.50 | 1.3 | 70.0 | 5.2 | 6.0 | 0.988 | 0.900 | 91.0 | 33.3 | 0.0 | 2.10\n"
            "sm-busy | 77.50 | - | 75.0 | - | - | - | - | - | - | - | -\n"
            "oracle | 100.00 | - | 100.0 | - | - | - | - | - | - | - | -\n");
}

TEST_F(EvaluationOutput, WithoutAChoiceThereIsNoScoreAndARemarkSaysWhy) {
  results_.resize(1);
  results_[0] = {};
  results_[0].name = "share";
  EXPECT_NE(with_bars(table()).find("share | - | - | - |"), std::string::npos) << table();
  EXPECT_NE(table(/*quiet=*/false).find("no workload has two test rows to choose between"),
            std::string::npos);
  EXPECT_NE(key_figures(listing()).front().label, "of the best possible throughput");
}

TEST_F(EvaluationOutput, AssignmentsAddAColumn) {
  results_[0].assignment = 0.9876;
  const std::string text = with_bars(table());
  EXPECT_NE(text.find("train [ms] | assigned [%]\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" | 2.10 | 98.76\n"), std::string::npos) << text;
}

TEST_F(EvaluationOutput, NoiseOfRepeatedGroupsIsARemark) {
  plan_.noise = evaluate::Noise{.groups = 3, .member_median = 0.012, .member_mean = 0.02};
  EXPECT_TRUE(
      table(/*quiet=*/false)
          .ends_with("\nNoise: in 3 groups measured more than once, a member differs by 1.2 % "
                     "(median; mean 2.0 %) between runs.\n"));
  EXPECT_EQ(table(/*quiet=*/true).find("Noise"), std::string::npos);
}

TEST_F(EvaluationOutput, TargetsAreAveragedOverSplitsAndTiesCountForBoth) {
  EXPECT_EQ(printed([&](const Output& output) { print_targets(listing(), output); }),
            "\n"
            "target: score [%], mean over splits  share  sm-busy  oracle\n"
            "a                                     75.0     75.0   100.0\n"
            "b                                     90.0     80.0   100.0\n"
            "\n"
            "share: best (or tied) in 2 of 2 targets\n"
            "sm-busy: best (or tied) in 1 of 2 targets\n");
}

TEST_F(EvaluationOutput, JsonHasNullWhereThereIsNoValue) {
  results_[1].splits = 0;
  results_[1].score_mean = results_[1].score_worst = std::nullopt;
  const json out = evaluation_to_json(listing(), /*per_target=*/false);
  EXPECT_EQ(out.at("protocol"), "pairs-n-occur");
  EXPECT_EQ(out.at("data"), "/data/small");
  EXPECT_EQ(out.at("noise"), nullptr);
  ASSERT_EQ(out.at("results").size(), 3U);
  EXPECT_EQ(out.at("results").at(0).at("score_mean"), 0.825);
  EXPECT_EQ(out.at("results").at(0).at("mse_z"), nullptr);
  EXPECT_EQ(out.at("results").at(1).at("score_mean"), nullptr);
  EXPECT_EQ(out.at("results").at(1).at("score_worst"), nullptr);
  EXPECT_FALSE(out.at("results").at(0).contains("targets"));
}

TEST_F(EvaluationOutput, JsonPerTargetNamesTheChosenGroup) {
  const json share = evaluation_to_json(listing(), /*per_target=*/true).at("results").at(0);
  EXPECT_EQ(share.at("best_in"), 2);
  EXPECT_EQ(share.at("best_of"), 2);
  EXPECT_EQ(share.at("targets"), json::parse(R"([
      {"split": "seed 1", "target": "a", "row": 7, "group": ["a", "b"], "score": 1.0},
      {"split": "seed 2", "target": "a", "row": null, "group": null, "score": 0.5},
      {"split": "seed 1", "target": "b", "row": 7, "group": ["a", "b"], "score": 0.9}])"));
}

}  // namespace
}  // namespace carpool::app
