#include "dataset/features.hpp"

#include <gtest/gtest.h>

namespace carpool::dataset {
namespace {

Profile profile(std::string workload, double exclusive, decltype(Profile::metrics) metrics) {
  Profile made;
  made.workload = std::move(workload);
  made.exclusive_throughput = exclusive;
  made.metrics = std::move(metrics);
  return made;
}

Dataset sample() {
  Dataset dataset;
  dataset.metrics = {{.name = "sm_busy_pct", .combine = Combine::Mean, .group = "system"},
                     {.name = "threads", .combine = Combine::Sum, .group = "kernel"},
                     {.name = "xu_read", .combine = Combine::Sum, .group = "xu"}};
  dataset.profiles = {
      profile("a", 10.0, {{"sm_busy_pct", 40.0}, {"threads", 100.0}, {"xu_read", 1.0}}),
      profile("b", 20.0, {{"sm_busy_pct", 80.0}, {"xu_read", 2.0}}),
      profile("c", 30.0, {{"sm_busy_pct", 90.0}, {"threads", 300.0}, {"xu_read", 6.0}})};
  return dataset;
}

std::vector<std::string> names(const Result<FeatureSelection>& selection) {
  std::vector<std::string> list;
  for (const MetricInfo& metric : selection.value().metrics) {
    list.push_back(metric.name);
  }
  if (selection->exclusive_throughput) {
    list.emplace_back("solo");
  }
  return list;
}

TEST(Features, EveryNameSelectsItsMetrics) {
  using Names = std::vector<std::string>;
  const Dataset dataset = sample();
  EXPECT_EQ(names(select_features(dataset, "default")), (Names{"sm_busy_pct", "threads", "solo"}));
  EXPECT_EQ(names(select_features(dataset, "kernel")), (Names{"threads", "solo"}));
  EXPECT_EQ(names(select_features(dataset, "system")), (Names{"sm_busy_pct", "solo"}));
  EXPECT_EQ(names(select_features(dataset, "none")), (Names{"solo"}));
  EXPECT_EQ(names(select_features(dataset, "xu")), (Names{"sm_busy_pct", "xu_read"}));
  EXPECT_EQ(names(select_features(dataset, "default+xu")),
            (Names{"sm_busy_pct", "threads", "xu_read", "solo"}));
}

TEST(Features, UnknownNameListsTheKnownOnes) {
  const auto selection = select_features(sample(), "all");
  ASSERT_FALSE(selection.has_value());
  EXPECT_EQ(selection.error().message,
            "unknown features \"all\"; known: default, kernel, system, none, xu, default+xu");
}

TEST(Features, AGroupThatTheDatasetDoesNotHaveIsUnsupported) {
  Dataset bare = sample();
  bare.metrics.clear();
  for (const char* name : {"kernel", "system", "xu", "default+xu"}) {
    const auto selection = select_features(bare, name);
    ASSERT_FALSE(selection.has_value()) << name;
    EXPECT_EQ(selection.error().code, ErrorCode::Unsupported);
  }
  EXPECT_EQ(select_features(bare, "default")->size(), 1U);
}

TEST(Features, AMissingValueIsTheMeanOfTheOthers) {
  const Dataset dataset = sample();
  const auto matrix = member_features(*select_features(dataset, "default"), dataset.profiles);
  Eigen::MatrixXd expected(3, 3);
  expected << 40, 100, 10,        //
      80, (100 + 300) / 2.0, 20,  //
      90, 300, 30;
  EXPECT_EQ(matrix, expected);
}

TEST(Features, AMetricThatNoProfileHasIsZero) {
  const Dataset dataset = sample();
  const FeatureSelection selection{.metrics = {{.name = "unmeasured", .combine = {}, .group = {}}},
                                   .exclusive_throughput = false};
  EXPECT_EQ(member_features(selection, dataset.profiles), Eigen::MatrixXd::Zero(3, 1));
}

TEST(Features, GroupsSumOrAverageEachColumn) {
  const Dataset dataset = sample();
  const auto selection = *select_features(dataset, "default");
  const auto members = member_features(selection, dataset.profiles);
  const std::vector<Group> groups{{{.profile = 0}, {.profile = 2}},
                                  {{.profile = 1}, {.profile = 1}, {.profile = 2}}};
  const auto matrix = group_features(selection, members, groups);
  Eigen::MatrixXd expected(2, 3);
  expected << (40 + 90) / 2.0, 100 + 300, 10 + 30,  //
      (80 + 80 + 90) / 3.0, 200 + 200 + 300, 20 + 20 + 30;
  EXPECT_TRUE(matrix.isApprox(expected, 1e-15)) << matrix;
}

}  // namespace
}  // namespace carpool::dataset
