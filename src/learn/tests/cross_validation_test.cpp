#include "learn/cross_validation.hpp"

#include <gtest/gtest.h>

#include "learn/linear.hpp"

namespace carpool::learn {
namespace {

Result<std::unique_ptr<Regressor>> fit_mean(const Eigen::MatrixXd& rows,
                                            const Eigen::VectorXd& targets) {
  return std::make_unique<LinearRegressor>(Eigen::VectorXd::Zero(rows.cols()), targets.mean());
}

// sklearn.model_selection.KFold(3).split(range(7)): test 0 1 2, then 3 4, then 5 6.
TEST(CrossValidation, CutsFoldsAsScikitLearnDoes) {
  const Eigen::MatrixXd rows{{0}, {1}, {2}, {3}, {4}, {5}, {6}};
  const std::vector<FoldData> folds = fold_data(rows, rows.col(0), 3);
  ASSERT_EQ(folds.size(), 3U);
  EXPECT_EQ(folds[0].test_targets, (Eigen::VectorXd{{0, 1, 2}}));
  EXPECT_EQ(folds[1].test_targets, (Eigen::VectorXd{{3, 4}}));
  EXPECT_EQ(folds[1].train_targets, (Eigen::VectorXd{{0, 1, 2, 5, 6}}));
  EXPECT_EQ(folds[1].train_rows.col(0), folds[1].train_targets);
  EXPECT_EQ(folds[2].test_rows.col(0), (Eigen::VectorXd{{5, 6}}));
}

TEST(CrossValidation, LeavesOneOutWhenThereAreFewerRowsThanFolds) {
  const Eigen::MatrixXd rows{{0}, {1}, {2}};
  EXPECT_EQ(fold_data(rows, rows.col(0), 5).size(), 3U);
  EXPECT_TRUE(fold_data(rows.topRows(1), rows.col(0).head(1), 5).empty());
}

// Means 6 and 2 of the other half: (1-6)² + (3-6)² + (5-2)² + (7-2)² = 68, over 4 rows.
TEST(CrossValidation, AveragesTheSquaredErrorOverAllRows) {
  const Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(4, 1);
  const auto error =
      cross_validated_mse(fold_data(rows, Eigen::VectorXd{{1, 3, 5, 7}}, 2), fit_mean);
  ASSERT_TRUE(error.has_value());
  EXPECT_DOUBLE_EQ(*error, 17.0);
}

TEST(CrossValidation, PassesOnTheErrorOfAFit) {
  const Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(4, 1);
  const Fit refuse = [](const auto&, const auto&) -> Result<std::unique_ptr<Regressor>> {
    return fail(ErrorCode::Internal, "no");
  };
  EXPECT_FALSE(cross_validated_mse(fold_data(rows, rows.col(0), 2), refuse).has_value());
}

}  // namespace
}  // namespace carpool::learn
