#include "app/output/prediction_output.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/tests/fixtures.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

// a at half of its speed with an interval; b at three quarters, unlike the training data.
Prediction two_members() {
  Prediction prediction;
  prediction.members = {{.profile = 0,
                         .workload = "a",
                         .thread_limit = 50.0,
                         .alone = 10.0,
                         .together = 5.0,
                         .together90 = Interval{.low = 4.0, .high = 6.0},
                         .slowdown = 2.0,
                         .slowdown90 = Interval{.low = 10.0 / 6.0, .high = 2.5},
                         .progress = 0.5},
                        {.profile = 1,
                         .workload = "b",
                         .alone = 200.0,
                         .together = 150.0,
                         .together90 = std::nullopt,
                         .slowdown = 200.0 / 150.0,
                         .slowdown90 = std::nullopt,
                         .progress = 0.75,
                         .extrapolated = true}};
  prediction.sum = 155.0;
  prediction.normalized_sum = 1.25;
  return prediction;
}

std::string table_of(const Prediction& prediction, const OutputOptions& options) {
  return printed([&](const Output& output) { print_prediction(prediction, "u/s", output); },
                 options);
}

TEST(PredictionOutput, TheTableHasOneLinePerMemberAndOneForTheGroup) {
  EXPECT_EQ(table_of(two_members(), {.quiet = true, .colour = "never"}),
            "workload      limit [%]  solo, estimated [u/s]  together [u/s]  90 % interval  "
            "slowdown [x]  90 % interval  solo speed [%]\n"
            "a                  50.0                   10.0            5.00   4.00 to 6.00  "
            "        2.00   1.67 to 2.50            50.0\n"
            "b (!)               100                    200             150              -  "
            "        1.33              -            75.0\n"
            "all together                                               155              -  "
            "                                      125.0\n");
}

TEST(PredictionOutput, AnExtrapolatedMemberIsExplainedUnlessQuiet) {
  const std::string remark =
      "(!) unlike every workload in the training data: the prediction is less reliable\n";
  EXPECT_TRUE(table_of(two_members(), {.colour = "never"}).ends_with(remark));
  EXPECT_EQ(table_of(two_members(), {.quiet = true, .colour = "never"}).find(remark),
            std::string::npos);
  Prediction known = two_members();
  known.members[1].extrapolated = false;
  EXPECT_EQ(table_of(known, {.colour = "never"}).find("(!)"), std::string::npos);
}

TEST(PredictionOutput, JsonHasNullForWhatTheModelDoesNotPredict) {
  EXPECT_EQ(prediction_to_json(two_members()), json::parse(R"({
      "members": [
        {"workload": "a", "thread_limit": 50.0, "alone": 10.0, "together": 5.0,
         "together_interval90": [4.0, 6.0], "slowdown": 2.0,
         "slowdown_interval90": [1.6666666666666667, 2.5], "progress": 0.5, "extrapolated": false},
        {"workload": "b", "thread_limit": 100.0, "alone": 200.0, "together": 150.0,
         "together_interval90": null, "slowdown": 1.3333333333333333,
         "slowdown_interval90": null, "progress": 0.75, "extrapolated": true}],
      "sum": 155.0, "sum_interval90": null, "normalized_sum": 1.25})"));
  EXPECT_EQ(prediction_to_json(Prediction{}),
            json::parse(
                R"({"members": [], "sum": null, "sum_interval90": null, "normalized_sum": null})"));
}

}  // namespace
}  // namespace carpool::app
