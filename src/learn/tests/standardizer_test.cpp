#include "learn/standardizer.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::learn {
namespace {

// 1, 2, 3: mean 2, deviation √((1 + 0 + 1) / 2) = 1.
TEST(Standardizer, UsesTheSampleDeviation) {
  const Eigen::MatrixXd rows{{1, 10}, {2, 30}, {3, 50}};
  const Standardizer standardizer = Standardizer::of(rows);
  EXPECT_DOUBLE_EQ(standardizer.deviation(0), 1.0);
  EXPECT_DOUBLE_EQ(standardizer.deviation(1), 20.0);
  EXPECT_TRUE(standardizer.apply(rows).isApprox(Eigen::MatrixXd{{-1, -1}, {0, 0}, {1, 1}}));
  EXPECT_TRUE(standardizer.apply(Eigen::MatrixXd{{5, 70}}).isApprox(Eigen::MatrixXd{{3, 2}}));
}

// The mean of three 0.1 is not exactly 0.1, so the computed deviation is not exactly 0.
TEST(Standardizer, LeavesColumnsOfEqualValuesAtZero) {
  const Eigen::MatrixXd rows{{0.1, 1}, {0.1, 2}, {0.1, 3}};
  EXPECT_TRUE(Standardizer::of(rows).apply(rows).col(0).isZero(0.0));
}

TEST(Standardizer, FindsNoVariationInASingleRow) {
  const Eigen::MatrixXd row{{3, 4}};
  EXPECT_TRUE(Standardizer::of(row).apply(row).isZero(0.0));
}

TEST(Standardizer, ReturnsFromJsonAsItWas) {
  const Eigen::MatrixXd rows{{0.1, 7}, {0.2, 7}, {0.7, 7}};
  const Standardizer before = Standardizer::of(rows);
  const auto after = Standardizer::from_json(nlohmann::json::parse(before.to_json().dump()));
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->apply(rows), before.apply(rows));
}

TEST(Standardizer, RefusesUnequalLengthsAndNegativeDeviations) {
  for (const char* text : {R"({"mean": [1, 2], "deviation": [1]})",
                           R"({"mean": [1], "deviation": [-1]})",
                           R"({"mean": [1], "deviation": ["1"]})",
                           R"({"mean": [1]})",
                           R"([1])"}) {
    const auto read = Standardizer::from_json(nlohmann::json::parse(text));
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::Corrupt);
  }
}

}  // namespace
}  // namespace carpool::learn
