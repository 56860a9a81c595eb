#include "predict/predictor.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "predict/tests/fake_forecaster.hpp"

namespace carpool::predict {
namespace {

using fake::FakeAnswers;
using fake::FakeForecaster;
using fake::FakeWorkload;
using fake::FakeWorld;

// Solo speeds 100 and 10 units/s. Pressures 2 and 1 (as exp): beside each other
// T_0 = 100 / (1 + 1/2) = 66.7, T_1 = 10 / (1 + 2/1) = 3.33.
const std::vector<FakeWorkload> two_workloads = {
    {.capacity = std::log(100.0), .pressure = std::log(2.0)},
    {.capacity = std::log(10.0), .pressure = 0.0, .extrapolated = true}};

TEST(PredictorTest, PairHasSpeedsSlowdownsAndProgress) {
  const FakeWorld world(two_workloads);
  const auto prediction = world.predictor().predict({{.profile = 0}, {.profile = 1}});
  ASSERT_TRUE(prediction.has_value());
  ASSERT_EQ(prediction->members.size(), 2U);
  const MemberPrediction& heavy = prediction->members[0];
  EXPECT_EQ(heavy.workload, "w0");
  EXPECT_NEAR(heavy.alone, 100.0, 1e-9);
  EXPECT_NEAR(heavy.together, 200.0 / 3.0, 1e-9);
  EXPECT_NEAR(heavy.slowdown, 1.5, 1e-9);
  EXPECT_NEAR(heavy.progress, 2.0 / 3.0, 1e-9);
  EXPECT_FALSE(heavy.extrapolated);
  EXPECT_TRUE(prediction->members[1].extrapolated);
  EXPECT_NEAR(prediction->members[1].slowdown, 3.0, 1e-9);
  EXPECT_NEAR(prediction->sum.value(), 70.0, 1e-9);
  EXPECT_NEAR(prediction->normalized_sum.value(), 1.0, 1e-9);
}

TEST(PredictorTest, SlowdownIntervalIsTheSpeedIntervalTurnedOver) {
  const FakeWorld world(two_workloads);
  const auto prediction = world.predictor().predict({{.profile = 0}, {.profile = 1}}).value();
  // The fake's interval is 0.8 to 1.25 times the speed: slowdown 1.5 / 1.25 to 1.5 / 0.8.
  ASSERT_TRUE(prediction.members[0].slowdown90.has_value());
  EXPECT_NEAR(prediction.members[0].slowdown90->low, 1.2, 1e-9);
  EXPECT_NEAR(prediction.members[0].slowdown90->high, 1.875, 1e-9);
  EXPECT_NEAR(prediction.sum90.value().low, 56.0, 1e-9);
}

TEST(PredictorTest, SoloSpeedIsTheForecastOfTheModelNotTheRecording) {
  std::vector<Profile> profiles(1);
  profiles[0].exclusive_throughput = 55.0;
  const auto predictor = Predictor::create(
      std::make_unique<FakeForecaster>(std::vector<FakeWorkload>{two_workloads[0]}), profiles);
  ASSERT_TRUE(predictor.has_value());
  EXPECT_NEAR(predictor->solo_speeds()[0], 100.0, 1e-9);
  EXPECT_NEAR(predictor->predict({{.profile = 0}}).value().members[0].slowdown, 1.0, 1e-12);
}

TEST(PredictorTest, SumOnlyGivesASumAndRecordedSpeeds) {
  const FakeWorld world(two_workloads, FakeAnswers::SumOnly);
  EXPECT_FALSE(world.predictor().predicts_members());
  EXPECT_NEAR(world.predictor().solo_speeds()[1], 10.0, 1e-9);
  const auto prediction = world.predictor().predict({{.profile = 0}, {.profile = 1}}).value();
  EXPECT_TRUE(prediction.members.empty());
  EXPECT_FALSE(prediction.normalized_sum.has_value());
  EXPECT_NEAR(prediction.sum.value(), 70.0, 1e-9);
}

TEST(PredictorTest, OrderOnlyGivesNoSum) {
  const FakeWorld world(two_workloads, FakeAnswers::OrderOnly);
  const auto prediction = world.predictor().predict({{.profile = 0}, {.profile = 1}}).value();
  EXPECT_FALSE(prediction.sum.has_value());
}

TEST(PredictorTest, GroupsThatCannotBeAreRefused) {
  const FakeWorld world(two_workloads);
  const auto error = [&](const Group& group) {
    const auto prediction = world.predictor().predict(group);
    return prediction ? "accepted" : prediction.error().message;
  };
  EXPECT_EQ(error({}), "a group needs at least one workload");
  EXPECT_EQ(error({{.profile = 2}}), "profile 2 of a group: there are 2 profiles");
  EXPECT_EQ(error({{.profile = 0, .thread_limit = 0.0}}),
            "thread limit 0 of 'w0': must be above 0 and at most 100 %");
  EXPECT_EQ(error({{.profile = 0, .thread_limit = 101.0}}),
            "thread limit 101 of 'w0': must be above 0 and at most 100 %");
}

TEST(PredictorTest, WorkloadWithoutASoloSpeedIsAnErrorThatNamesIt) {
  std::vector<Profile> profiles(1);
  profiles[0].workload = "broken";
  const auto predictor = Predictor::create(
      std::make_unique<FakeForecaster>(std::vector<FakeWorkload>{{.capacity = -1e9}}), profiles);
  ASSERT_FALSE(predictor.has_value());
  EXPECT_NE(predictor.error().message.find("'broken'"), std::string::npos);
}

class FakeModel final : public model::ThroughputModel {
 public:
  [[nodiscard]] const model::ModelCard& card() const override { return card_; }
  [[nodiscard]] Result<std::unique_ptr<model::Forecaster>> bind(
      std::span<const Profile> profiles) const override {
    if (profiles.size() != two_workloads.size()) {
      return fail(ErrorCode::Unsupported, "two profiles wanted");
    }
    return std::make_unique<FakeForecaster>(two_workloads);
  }
  [[nodiscard]] nlohmann::json params() const override { return {}; }

 private:
  model::ModelCard card_;
};

TEST(PredictorTest, BindsAModelAndPassesItsRefusalOn) {
  const std::vector<Profile> profiles(2);
  const FakeModel model;
  EXPECT_NEAR(Predictor::create(model, profiles).value().solo_speeds()[1], 10.0, 1e-9);
  const auto refused = Predictor::create(model, std::span(profiles).first(1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "two profiles wanted");
}

}  // namespace
}  // namespace carpool::predict
