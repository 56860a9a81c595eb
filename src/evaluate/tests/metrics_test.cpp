#include "evaluate/metrics.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace carpool::evaluate {
namespace {

using Values = std::vector<double>;

TEST(Metrics, MeanAndDeviationOfKnownValues) {
  EXPECT_EQ(mean(Values{1.0, 2.0, 6.0}), 3.0);
  EXPECT_DOUBLE_EQ(*standard_deviation(Values{1.0, 2.0, 6.0}), std::sqrt(7.0));
  EXPECT_FALSE(mean(Values{}).has_value());
  EXPECT_FALSE(standard_deviation(Values{1.0}).has_value());
}

TEST(Metrics, PercentageErrorPassesOverZeros) {
  // (|11-10|/10 + |15-20|/20) / 2
  EXPECT_DOUBLE_EQ(
      *mean_absolute_percentage_error(Values{11.0, 15.0, 3.0}, Values{10.0, 20.0, 0.0}), 0.175);
}

TEST(Metrics, RSquaredIsOneForTruthAndZeroForTheMean) {
  const Values truth = {1.0, 2.0, 3.0};
  EXPECT_DOUBLE_EQ(*r_squared(truth, truth), 1.0);
  EXPECT_DOUBLE_EQ(*r_squared(Values{2.0, 2.0, 2.0}, truth), 0.0);
  EXPECT_FALSE(r_squared(truth, Values{5.0, 5.0, 5.0}).has_value());
}

TEST(Metrics, SpearmanUsesAverageRanks) {
  EXPECT_DOUBLE_EQ(*spearman(Values{1.0, 10.0, 100.0}, Values{2.0, 3.0, 4.0}), 1.0);
  EXPECT_DOUBLE_EQ(*spearman(Values{1.0, 2.0, 3.0}, Values{3.0, 2.0, 1.0}), -1.0);
  // ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: covariance 4.5 / sqrt(4.5 * 5)
  EXPECT_NEAR(*spearman(Values{1.0, 2.0, 2.0, 3.0}, Values{1.0, 2.0, 3.0, 4.0}),
              4.5 / std::sqrt(4.5 * 5.0),
              1e-12);
  EXPECT_FALSE(spearman(Values{1.0, 1.0}, Values{1.0, 2.0}).has_value());
}

}  // namespace
}  // namespace carpool::evaluate
