// What all published models have in common.
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "model/published/published.hpp"
#include "model/tests/kace_data.hpp"

namespace carpool::model {
namespace {

// Four workloads of which only the solo throughput is known; pairs reach half of both together.
struct BareData {
  dataset::Dataset dataset;
  TrainingSet training;

  BareData() {
    dataset.folder = "bare";
    for (const double throughput : {10.0, 20.0, 40.0, 80.0}) {
      Profile profile;
      profile.workload = "w" + std::to_string(dataset.profiles.size());
      profile.exclusive_throughput = throughput;
      dataset.profiles.push_back(profile);
    }
    training.dataset = &dataset;
    for (std::size_t first = 0; first < 4; ++first) {
      for (std::size_t second = first + 1; second < 4; ++second) {
        dataset::GroupRow row;
        row.members = {{.profile = first}, {.profile = second}};
        row.throughput = {dataset.profiles[first].exclusive_throughput / 2.0,
                          dataset.profiles[second].exclusive_throughput / 2.0};
        training.rows.push_back(row);
      }
    }
    training.fit_rows = training.rows.size();
  }
};

TEST(SumModel, WorksWithoutAnyMetric) {
  const BareData data;
  const auto model = value_or_throw(train_kace_lr(data.training));
  EXPECT_EQ(model->card().features, std::vector<std::string>{"exclusive_thr"});
  const auto forecaster = value_or_throw(model->bind(data.dataset.profiles));
  const std::vector<Group> groups = {{{.profile = 0}, {.profile = 1}},
                                     {{.profile = 3}, {.profile = 3}}};
  const auto forecasts = forecaster->forecast(groups, ForecastDetail::PointOnly);
  EXPECT_NEAR(forecasts[0].sum.value_or(0.0), 15.0, 1e-9);
  EXPECT_NEAR(forecasts[1].sum.value_or(0.0), 80.0, 1e-9);
  EXPECT_TRUE(forecasts[0].members.empty());
}

// Two candidates have the standardized features -1/√2 and 1/√2 whatever they are, and the line
// through the standardized training rows has slope 1.
TEST(SumModel, PrefersByTheStatisticsOfTheCandidates) {
  const BareData data;
  const auto model = value_or_throw(train_kace_lr(data.training));
  const auto forecaster = value_or_throw(model->bind(data.dataset.profiles));
  const std::vector<Group> groups = {{{.profile = 3}, {.profile = 3}},
                                     {{.profile = 0}, {.profile = 1}}};
  const auto forecasts = forecaster->forecast(groups, ForecastDetail::PointOnly);
  EXPECT_NEAR(forecasts[0].preference, std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(forecasts[1].preference, -std::sqrt(0.5), 1e-12);
}

TEST(SumModel, HasNoPreferenceAboutASingleCandidate) {
  const BareData data;
  const auto model = value_or_throw(train_kace_lr(data.training));
  const auto forecaster = value_or_throw(model->bind(data.dataset.profiles));
  const std::vector<Group> one = {{{.profile = 2}, {.profile = 3}}};
  const auto forecasts = forecaster->forecast(one, ForecastDetail::PointOnly);
  EXPECT_EQ(forecasts[0].preference, 0.0);
  EXPECT_NEAR(forecasts[0].sum.value_or(0.0), 60.0, 1e-9);
  EXPECT_TRUE(forecaster->forecast({}, ForecastDetail::PointOnly).empty());
}

TEST(SumModel, FitsTheFirstRowsAloneAndReportsTheErrorOfTheOthers) {
  BareData data;
  data.training.fit_rows = 4;
  data.training.rows[5].throughput = {0.0, 120.0};  // twice what the others say
  const auto model = value_or_throw(train_kace_lr(data.training));
  EXPECT_EQ(model->card().training_rows, 4U);
  // Errors 0 and |60 - 120| / 120 of the two rows left out.
  EXPECT_NEAR(model->card().holdout_mape.value_or(-1.0), 0.25, 1e-9);
}

TEST(SumModel, NeedsTwoRows) {
  BareData data;
  data.training.fit_rows = 1;
  const auto model = train_kace_lr(data.training);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::Unsupported);
}

TEST(SumModel, SaysWhichMetricNoProfileHas) {
  const dataset::Split split = dataset::n_occur_split(kace_data().pairs, 3, 10);
  const auto model = value_or_throw(train_kace_lr(training_of(split)));
  const auto forecaster = model->bind(BareData().dataset.profiles);
  ASSERT_FALSE(forecaster.has_value());
  EXPECT_EQ(forecaster.error().code, ErrorCode::Unsupported);
  EXPECT_NE(forecaster.error().message.find("sm_busy_pct"), std::string::npos);
}

TEST(Xu, SaysWhichColumnsAreMissing) {
  BareData data;
  data.dataset.metrics = {
      {.name = "xu_pcie_read", .combine = dataset::Combine::Sum, .group = "xu"}};
  const auto model = train_xu(data.training);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::Unsupported);
  EXPECT_NE(model.error().message.find("xu_pcie_write"), std::string::npos);
  EXPECT_NE(model.error().message.find("sm_busy_pct"), std::string::npos);
  EXPECT_EQ(model.error().message.find("xu_pcie_read"), std::string::npos);
}

TEST(SumModel, ReturnsFromItsParametersAsItWas) {
  const dataset::Split split = dataset::n_occur_split(kace_data().pairs, 3, 10);
  const auto before = value_or_throw(train_kace_lr(training_of(split)));
  const auto stored = nlohmann::json::parse(before->params().dump());
  const auto after = value_or_throw(load_sum_model(before->card(), stored));
  EXPECT_EQ(after->card().kind, "kace-lr");
  EXPECT_EQ(after->params(), before->params());
  const auto choices = choices_of(split);
  const auto old_forecaster = value_or_throw(before->bind(kace_data().dataset.profiles));
  const auto new_forecaster = value_or_throw(after->bind(kace_data().dataset.profiles));
  for (const auto& [target, choice] : choices) {
    EXPECT_EQ(preferences_of(*new_forecaster, choice), preferences_of(*old_forecaster, choice));
  }
}

TEST(SumModel, RefusesBrokenParameters) {
  const auto model =
      value_or_throw(train_kace_lr(training_of(dataset::n_occur_split(kace_data().pairs, 3, 10))));
  const nlohmann::json good = model->params();
  const auto expect_refused = [&](const nlohmann::json& params, const std::string& what) {
    const auto loaded = load_sum_model(model->card(), params);
    ASSERT_FALSE(loaded.has_value()) << what;
    EXPECT_EQ(loaded.error().code, ErrorCode::Corrupt) << what;
  };
  for (const auto& [key, value] : good.items()) {
    nlohmann::json broken = good;
    broken.erase(key);
    expect_refused(broken, "without " + key);
    broken[key] = "?";
    expect_refused(broken, "text as " + key);
    broken[key] = nullptr;
    expect_refused(broken, "null as " + key);
  }
  nlohmann::json fewer = good;
  fewer["features"].erase(0);
  expect_refused(fewer, "a feature too few");
  nlohmann::json without = good;
  without["exclusive_throughput"] = false;
  expect_refused(without, "no exclusive throughput");
  nlohmann::json unknown = good;
  unknown["features"][0]["combine"] = "product";
  expect_refused(unknown, "an unknown combination");
  expect_refused(nlohmann::json::array(), "a list");
  expect_refused(nullptr, "null");
}

}  // namespace
}  // namespace carpool::model
