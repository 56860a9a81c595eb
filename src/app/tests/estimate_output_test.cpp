#include "app/output/estimate_output.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/tests/fixtures.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

class EstimateOutput : public testing::Test {
 protected:
  EstimateOutput() {
    rows_.resize(1);
    rows_[0].line = 12;
    rows_[0].peak = 3'000'000'000;
    rows_[0].peak_has_context = true;
    estimate::EstimatorScore all;
    all.estimator = "carpool";
    all.family = "all";
    all.rows = 9;
    all.unanswered = 1;
    all.accuracy_1gb = 0.75;
    all.accuracy_2gb = 0.8125;
    all.accuracy_8gb = 1.0;
    all.mape = 0.05432;
    all.mape_above_context = 0.061;
    all.under = 0.2;
    all.under_5 = 0.05;
    all.mean_over_gb = 0.125;
    all.bound_covers = 0.99;
    all.bound_waste = 0.153;
    all.microseconds = 12.345;
    results_ = {{.scores = {all},
                 .estimates = {{.row = 0, .expected = 2.5e9, .upper = 3.25e9, .seconds = 2e-6}}},
                {.scores = {{.estimator = "horus", .family = "all"}}, .refused = "no layer list"}};
  }

  [[nodiscard]] EstimateListing listing() const {
    return {.rows = rows_,
            .results = results_,
            .file = "rows.jsonl",
            .view = "layers",
            .split = "names",
            .without_model = 4};
  }

  std::vector<estimate::MeasuredJob> rows_;
  std::vector<estimate::EstimatorResult> results_;
};

TEST_F(EstimateOutput, EachScoreHasALineAndRefusalsFollow) {
  EXPECT_EQ(
      with_bars(printed([&](const Output& output) { print_estimates(listing(), output); })),
      "rows.jsonl: 1 measured jobs, described as layers, train/test split names\n"
      "estimator | family | jobs | no answer | 1-GB class [%] | 2-GB [%] | 8-GB [%] | MAPE [%] | "
      "above context [%] | under [%] | under by > 5 % [%] | mean over [GB] | bound covers [%] | "
      "bound waste [%] | time [µs]\n"
      "carpool | all | 9 | 1 | 75.0 | 81.2 | 100.0 | 5.43 | 6.10 | 20.0 | 5.0 | 0.12 | 99.0 | "
      "15.3 | 12.3\n"
      "horus | all | 0 | 0 | - | - | - | - | - | - | - | - | - | - | -\n"
      "horus: no layer list\n\n"
      "4 rows are left out: they describe no model that can be estimated.\n\n");
}

TEST_F(EstimateOutput, JsonListsRowsOnRequestOnly) {
  const json brief = estimates_to_json(listing(), /*per_row=*/false);
  EXPECT_EQ(brief.at("file"), "rows.jsonl");
  EXPECT_EQ(brief.at("from"), "layers");
  EXPECT_EQ(brief.at("split"), "names");
  EXPECT_EQ(brief.at("rows"), 1);
  EXPECT_EQ(brief.at("without_model"), 4);
  EXPECT_FALSE(brief.at("results").at(0).contains("estimates"));
  EXPECT_EQ(brief.at("results").at(0).at("scores").at(0).at("mape"), 0.05432);
  EXPECT_EQ(brief.at("results").at(0).at("scores").at(0).at("bound_waste_gb"), nullptr);
  EXPECT_FALSE(brief.at("results").at(0).contains("refused"));
  EXPECT_EQ(brief.at("results").at(1).at("refused"), "no layer list");

  const json estimates =
      estimates_to_json(listing(), /*per_row=*/true).at("results").at(0).at("estimates");
  ASSERT_EQ(estimates.size(), 1U);
  EXPECT_EQ(estimates.at(0).at("line"), 12);
  EXPECT_EQ(estimates.at(0).at("truth"), 3'000'000'000);
  EXPECT_EQ(estimates.at(0).at("finished"), true);
  EXPECT_DOUBLE_EQ(estimates.at(0).at("microseconds").get<double>(), 2.0);
  EXPECT_EQ(estimates.at(0).at("upper"), 3.25e9);
}

}  // namespace
}  // namespace carpool::app
