#include "evaluate/partition_regret.hpp"

#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "evaluate/partition_comparison.hpp"
#include "model/registry.hpp"

namespace carpool::evaluate {
namespace {

dataset::GroupRow row(Group members, std::vector<double> throughput, std::string campaign) {
  return {.id = 0,
          .members = std::move(members),
          .throughput = std::move(throughput),
          .campaign = std::move(campaign)};
}

dataset::Dataset workloads(const std::vector<double>& exclusive) {
  dataset::Dataset dataset;
  for (const double throughput : exclusive) {
    Profile profile;
    profile.workload = "w" + std::to_string(dataset.profiles.size());
    profile.exclusive_throughput = throughput;
    dataset.profiles.push_back(std::move(profile));
  }
  return dataset;
}

// Solo speeds 10 and 100 units/s; measured at 20/80, 50/50 and 100/100.
class OnePairUnderLimits : public ::testing::Test {
 protected:
  [[nodiscard]] std::optional<PartitionOutcome> judge(
      predict::ObjectiveKind kind,
      std::size_t pick,
      std::optional<double> floor = std::nullopt) const {
    return judge_pick(dataset_, {.kind = kind, .floor = floor}, comparisons_.front(), pick);
  }

  dataset::Dataset dataset_ = workloads({10.0, 100.0});
  std::vector<dataset::GroupRow> rows_ = {row({{0, 20}, {1, 80}}, {2.0, 80.0}, "a"),
                                          row({{0, 50}, {1, 50}}, {6.0, 50.0}, "a"),
                                          row({{0, 100}, {1, 100}}, {9.0, 40.0}, "a")};
  std::vector<PartitionComparison> comparisons_ = partition_comparisons(rows_, 3);
};

TEST_F(OnePairUnderLimits, RegretIsTheShareOfTheBestValueThatIsLost) {
  // Sums 82, 56, 49; normalised 1.0, 1.1, 1.3; smallest 0.2, 0.5, 0.4.
  EXPECT_DOUBLE_EQ(judge(predict::ObjectiveKind::Throughput, 0)->regret, 0.0);
  EXPECT_DOUBLE_EQ(judge(predict::ObjectiveKind::Throughput, 1)->regret, 1.0 - 56.0 / 82.0);
  EXPECT_DOUBLE_EQ(judge(predict::ObjectiveKind::Normalized, 0)->regret, 1.0 - 1.0 / 1.3);
  EXPECT_DOUBLE_EQ(judge(predict::ObjectiveKind::MaxMin, 2)->regret, 1.0 - 0.4 / 0.5);
}

TEST_F(OnePairUnderLimits, RegretUnderAFloorIsAgainstTheBestThatKeepsIt) {
  EXPECT_TRUE(judge(predict::ObjectiveKind::Throughput, 0, 0.3)->floor_missed);
  EXPECT_DOUBLE_EQ(judge(predict::ObjectiveKind::Throughput, 1, 0.3)->regret, 0.0);
  EXPECT_DOUBLE_EQ(judge(predict::ObjectiveKind::Throughput, 2, 0.3)->regret, 1.0 - 49.0 / 56.0);
  EXPECT_FALSE(judge(predict::ObjectiveKind::Throughput, 0, 0.6).has_value());
}

TEST_F(OnePairUnderLimits, FixedLimitsTakeTheNearestMeasuredPartition) {
  EXPECT_EQ(pick_nearest(comparisons_.front(), std::vector<double>{30, 70}), 0U);
  EXPECT_EQ(pick_nearest(comparisons_.front(), std::vector<double>{60, 40}), 1U);
  EXPECT_EQ(pick_nearest(comparisons_.front(), std::vector<double>{90, 90}), 2U);
}

TEST_F(OnePairUnderLimits, NamedLimitsTakeNoOtherPartition) {
  EXPECT_EQ(pick_measured(comparisons_.front(), std::vector<double>{100, 100}), 2U);
  EXPECT_EQ(pick_measured(comparisons_.front(), std::vector<double>{50.4, 49.6}), 1U);
  EXPECT_EQ(pick_measured(comparisons_.front(), std::vector<double>{90, 90}), std::nullopt);
}

TEST_F(OnePairUnderLimits, BestFixedPartitionHasTheLeastRegret) {
  const auto best = [&](predict::ObjectiveKind kind) {
    return best_fixed_partition(dataset_, {.kind = kind, .floor = std::nullopt}, comparisons_, 2);
  };
  EXPECT_EQ(best(predict::ObjectiveKind::Throughput), std::vector<double>({20, 80}));
  EXPECT_EQ(best(predict::ObjectiveKind::Normalized), std::vector<double>({100, 100}));
  EXPECT_EQ(best(predict::ObjectiveKind::MaxMin), std::vector<double>({50, 50}));
}

TEST(PartitionComparisons, AreOneForEachCampaignAndOrderOfLaunch) {
  const std::vector<dataset::GroupRow> rows = {row({{0, 20}, {1, 80}}, {1, 1}, "a"),
                                               row({{0, 50}, {1, 50}}, {1, 1}, "a"),
                                               row({{1, 50}, {0, 50}}, {1, 1}, "a"),
                                               row({{1, 20}, {0, 80}}, {1, 1}, "a"),
                                               row({{0, 50}, {1, 50}}, {1, 1}, "b")};
  const std::vector<dataset::GroupRow> twice = {row({{0, 50}, {1, 50}}, {1, 1}, "a"),
                                                row({{0, 50}, {1, 50}}, {2, 2}, "a")};
  EXPECT_TRUE(partition_comparisons(twice, 2).empty());
  const auto comparisons = partition_comparisons(rows, 2);
  ASSERT_EQ(comparisons.size(), 2U);
  EXPECT_EQ(comparisons[0].rows.front(), &rows[0]);
  EXPECT_EQ(comparisons[1].rows.front(), &rows[2]);
  EXPECT_EQ(comparisons[0].key, comparisons[1].key);
}

// Five workloads, every pair in both orders and two campaigns at nine partitions, and at 100/100.
// The member launched first gains from its limit, the other loses, by an amount of its own.
PartitionMeasurements every_pair() {
  PartitionMeasurements measurements;
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      for (double limit = 10; limit <= 90; limit += 10) {
        const std::vector<double> speed = {std::sqrt(limit) * static_cast<double>(i + 1),
                                           100.0 - limit + static_cast<double>(j)};
        measurements.partitions.push_back(row({{i, limit}, {j, 100 - limit}}, speed, "a"));
        measurements.partitions.push_back(row({{i, limit}, {j, 100 - limit}}, speed, "b"));
      }
      measurements.unlimited.push_back(row({{i, 100}, {j, 100}}, {5.0, 5.0}, ""));
    }
  }
  return measurements;
}

// Looks the speeds up, and multiplies that of the first member.
class LookUp final : public model::Forecaster {
 public:
  LookUp(const std::vector<dataset::GroupRow>& rows, double error) : error_(error) {
    for (const dataset::GroupRow& known : rows) {
      speeds_[key(known.members)] = known.throughput;
    }
  }
  [[nodiscard]] std::vector<GroupForecast> forecast(
      std::span<const Group> candidates, model::ForecastDetail /*detail*/) const override {
    std::vector<GroupForecast> out;
    for (const Group& group : candidates) {
      GroupForecast& forecast = out.emplace_back();
      double sum = 0.0;
      for (std::size_t i = 0; i < group.size(); ++i) {
        const double speed = speeds_.at(key(group))[i] * (i == 0 ? error_ : 1.0);
        forecast.members.push_back(
            {.throughput = speed, .interval90 = std::nullopt, .extrapolated = false});
        sum += speed;
      }
      forecast.sum = sum;
    }
    return out;
  }

 private:
  static std::vector<double> key(const Group& group) {
    std::vector<double> key;
    for (const GroupMember& member : group) {
      key.push_back(static_cast<double>(member.profile));
      key.push_back(member.thread_limit);
    }
    return key;
  }
  std::map<std::vector<double>, std::vector<double>> speeds_;
  double error_;
};

class LookUpModel final : public model::ThroughputModel {
 public:
  LookUpModel(const std::vector<dataset::GroupRow>& rows, double error)
      : rows_(rows), error_(error) {}
  [[nodiscard]] const model::ModelCard& card() const override { return card_; }
  [[nodiscard]] Result<std::unique_ptr<model::Forecaster>> bind(
      std::span<const Profile> /*profiles*/) const override {
    return std::make_unique<LookUp>(rows_, error_);
  }
  [[nodiscard]] nlohmann::json params() const override { return {}; }

 private:
  model::ModelCard card_;
  const std::vector<dataset::GroupRow>& rows_;
  double error_;
};

PartitionResult find(const PartitionReport& report,
                     const std::string& policy,
                     const std::string& objective,
                     const std::string& campaign = "") {
  for (const PartitionResult& result : report.results) {
    if (result.policy == policy && result.objective == objective && result.campaign == campaign) {
      return result;
    }
  }
  ADD_FAILURE() << "no result of " << policy << " by " << objective;
  return {};
}

TEST(JudgePartitions, FindsNoRegretInAModelThatKnowsTheSpeeds) {
  const dataset::Dataset dataset = workloads({10, 20, 30, 40, 50});
  const PartitionMeasurements measurements = every_pair();
  PartitionProtocol protocol;
  protocol.seeds = {1, 2};
  const auto report = judge_partitions(
      dataset,
      measurements,
      protocol,
      [&](const model::TrainingSet&) -> Result<std::unique_ptr<model::ThroughputModel>> {
        return std::make_unique<LookUpModel>(measurements.partitions, 1.0);
      });
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->groups, 50U);  // 25 ordered pairs in two campaigns
  EXPECT_EQ(report->trials, 10U);  // 5 folds, 2 seeds
  EXPECT_EQ(find(*report, "model", "max-min").choices, 100U);
  EXPECT_EQ(find(*report, "model", "max-min", "b").choices, 50U);
  EXPECT_EQ(find(*report, "model", "max-min").regret_mean, 0.0);
  EXPECT_EQ(find(*report, "model", "throughput").regret_p90, 0.0);
  EXPECT_EQ(find(*report, "model", "throughput, floor 0.3").floor_missed, 0.0);
  EXPECT_GT(find(*report, "equal shares", "throughput").regret_mean, 0.0);
  for (const PartitionResult& result : report->results) {
    EXPECT_NE(result.policy, "100 % each");  // which was not measured
  }
  EXPECT_NEAR(report->accuracy.front().mape_limited.value(), 0.0, 1e-12);
  EXPECT_FALSE(report->accuracy.front().mape_unlimited.has_value());
}

TEST(JudgePartitions, MeasuresTheErrorOfEveryMember) {
  const dataset::Dataset dataset = workloads({10, 20, 30, 40, 50});
  const PartitionMeasurements measurements = every_pair();
  const auto report = judge_partitions(
      dataset,
      measurements,
      {},
      [&](const model::TrainingSet&) -> Result<std::unique_ptr<model::ThroughputModel>> {
        return std::make_unique<LookUpModel>(measurements.partitions, 1.5);
      });
  // Every first member is 50 % too fast, every second one right.
  EXPECT_NEAR(report->accuracy.front().mape_limited.value(), 0.25, 1e-12);
}

TEST(JudgePartitions, HoldsBackEveryRowOfAGroup) {
  const dataset::Dataset dataset = workloads({10, 20, 30, 40, 50});
  const PartitionMeasurements measurements = every_pair();
  PartitionProtocol protocol;
  protocol.seeds = {7};
  std::map<GroupKey, int> missing;
  const auto trainer =
      [&](const model::TrainingSet& training) -> Result<std::unique_ptr<model::ThroughputModel>> {
    std::map<GroupKey, std::size_t> limited;
    std::set<GroupKey> unlimited;
    for (const dataset::GroupRow& seen : training.partitions) {
      ++limited[group_key(seen.members)];
    }
    for (const dataset::GroupRow& seen : training.rows) {
      unlimited.insert(group_key(seen.members));
    }
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = i; j < 5; ++j) {
        // Nine partitions, two campaigns, two orders where the members differ: all or none.
        const std::size_t rows = limited[{i, j}];
        EXPECT_TRUE(rows == 0 || rows == (i == j ? 18U : 36U));
        EXPECT_EQ(rows > 0, unlimited.contains({i, j}));
        missing[{i, j}] += rows == 0 ? 1 : 0;
      }
    }
    return std::make_unique<LookUpModel>(measurements.partitions, 1.0);
  };
  ASSERT_TRUE(judge_partitions(dataset, measurements, protocol, trainer).has_value());
  ASSERT_EQ(missing.size(), 15U);
  for (const auto& [key, times] : missing) {
    EXPECT_EQ(times, 1) << key[0] << " and " << key[1];
  }
}

TEST(JudgePartitions, SaysWhatIsMissing) {
  const dataset::Dataset dataset = workloads({10, 20});
  const auto report = judge_partitions(
      dataset,
      {},
      {},
      [](const model::TrainingSet&) -> Result<std::unique_ptr<model::ThroughputModel>> {
        return fail(ErrorCode::Internal, "not to be called");
      });
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().message,
            "protocol mps-split needs groups that were measured under at least 6 MPS partitions "
            "each; table partitions has none");
}

TEST(JudgePartitions, FindsShareNearTheBestPartitionsOfTheV100Pairs) {
  const auto dataset =
      dataset::load_dataset(std::filesystem::path(CARPOOL_SOURCE_DIR) / "data" / "kace-v100");
  ASSERT_TRUE(dataset.has_value()) << dataset.error().message;
  const auto measurements = load_partition_measurements(*dataset);
  ASSERT_TRUE(measurements.has_value()) << measurements.error().message;
  const auto share = model::find_model_kind("share");
  ASSERT_TRUE(share.has_value()) << share.error().message;
  PartitionProtocol protocol;
  protocol.seeds = {11};
  const auto report = judge_partitions(*dataset, *measurements, protocol, (*share)->train);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->groups, 283U);
  for (const char* objective : {"throughput", "max-min"}) {
    const PartitionResult model = find(*report, "model", objective);
    EXPECT_EQ(model.choices, 283U);
    EXPECT_EQ(find(*report, "100 % each", objective).choices, 266U);
    EXPECT_EQ(find(*report, "equal shares", objective).choices, 249U);
    EXPECT_LE(model.regret_median, 0.03) << objective;
    for (const char* fixed : {"100 % each", "equal shares", "best fixed split"}) {
      EXPECT_LT(model.regret_mean, 0.6 * find(*report, fixed, objective).regret_mean)
          << objective << " against " << fixed;
    }
    // Where the jobs are those that the model was trained on.
    EXPECT_LE(find(*report, "model", objective, "MPS100_0624").regret_mean, 0.01) << objective;
  }
}

}  // namespace
}  // namespace carpool::evaluate
