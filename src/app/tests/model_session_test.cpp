#include "app/inputs/model_session.hpp"

#include <gtest/gtest.h>

#include "app/tests/small_dataset.hpp"

namespace carpool::app {
namespace {

Result<std::unique_ptr<ModelSession>> open_on(const std::string& data,
                                              const GoalOptions& goal,
                                              const Config& config) {
  ModelOptions options;
  options.data = data;
  return open_session(options, goal, config, Progress::Show::Never);
}

class SessionOfSmallDataset : public testing::Test {
 protected:
  [[nodiscard]] Result<std::unique_ptr<ModelSession>> open(const GoalOptions& goal = {},
                                                           const Config& config = {}) const {
    return open_on(small_.path(), goal, config);
  }

  SmallDataset small_;
};

TEST_F(SessionOfSmallDataset, HasAModelThatIsTrainedOnItsWorkloads) {
  const auto session = open();
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ((*session)->model->card().kind, "share");
  EXPECT_EQ((*session)->trained_workloads(), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ((*session)->names({{.profile = 2}, {.profile = 0}}),
            (std::vector<std::string>{"job2", "job0"}));
  ASSERT_TRUE((*session)->predictor);
  EXPECT_TRUE((*session)->predictor->predicts_members());
  EXPECT_EQ((*session)->objective.kind, predict::ObjectiveKind::Normalized);
  EXPECT_EQ((*session)->memory_gib, std::nullopt);
}

TEST_F(SessionOfSmallDataset, OptionsPrecedeTheConfiguration) {
  Config config;
  config.objective = "throughput";
  config.floor = 0.5;
  config.memory_gib = 32.0;
  const auto configured = open({}, config);
  ASSERT_TRUE(configured) << configured.error().message;
  EXPECT_EQ((*configured)->objective.kind, predict::ObjectiveKind::Throughput);
  EXPECT_EQ((*configured)->objective.floor, 0.5);
  EXPECT_EQ((*configured)->memory_gib, 32.0);
  const auto chosen = open(
      {.objective = "weighted", .floor = 0.9, .weights = {2.0, 1.0}, .memory_gib = 80.0}, config);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ((*chosen)->objective.kind, predict::ObjectiveKind::Weighted);
  EXPECT_EQ((*chosen)->objective.weights, (std::vector<double>{2.0, 1.0}));
  EXPECT_EQ((*chosen)->objective.floor, 0.9);
  EXPECT_EQ((*chosen)->memory_gib, 80.0);
}

TEST_F(SessionOfSmallDataset, WeightsNeedTheWeightedObjective) {
  GoalOptions goal;
  goal.weights = {2.0, 1.0};
  EXPECT_EQ(open(goal).error().message, "--weights needs --objective weighted");
}

TEST_F(SessionOfSmallDataset, AnUnknownObjectiveListsTheKnownOnes) {
  GoalOptions goal;
  goal.objective = "speed";
  const auto session = open(goal);
  ASSERT_FALSE(session);
  for (const char* part : {"speed", "normalized", "throughput", "weighted"}) {
    EXPECT_NE(session.error().message.find(part), std::string::npos) << session.error().message;
  }
}

TEST(ModelSession, WithoutADatasetItNamesTheFolder) {
  const TemporaryFolder empty;
  const std::string missing = (empty.path() / "none").string();
  const auto session = open_on(missing, {}, {});
  ASSERT_FALSE(session);
  EXPECT_NE(session.error().message.find(missing), std::string::npos) << session.error().message;
}

}  // namespace
}  // namespace carpool::app
