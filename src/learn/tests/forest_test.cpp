#include "learn/forest.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "learn/cross_validation.hpp"
#include "learn/forest_search.hpp"

namespace carpool::learn {
namespace {

struct ForestSample {
  Eigen::MatrixXd rows = Eigen::MatrixXd(40, 4);
  Eigen::VectorXd targets = Eigen::VectorXd(40);

  ForestSample() {
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      for (Eigen::Index j = 0; j < rows.cols(); ++j) {
        rows(i, j) = std::sin(static_cast<double>(1 + 7 * i * (j + 1) + 3 * j * j));
      }
      targets(i) =
          rows(i, 0) + rows(i, 1) * rows(i, 2) + 0.5 * std::cos(5.0 * static_cast<double>(i));
    }
  }
};

ForestSettings settings(std::size_t trees, std::size_t leaf, bool bootstrap) {
  return {.trees = trees,
          .features = FeatureShare::Sqrt,
          .min_samples_leaf = leaf,
          .bootstrap = bootstrap};
}

// Expected: scikit-learn 1.2.1, RandomForestRegressor(10, max_features="sqrt", min_samples_leaf=5,
// bootstrap=…, random_state=42).fit(rows, targets).predict(rows[:5]).
TEST(Forest, AgreesWithScikitLearn) {
  const ForestSample sample;
  const Eigen::MatrixXd first = sample.rows.topRows(5);
  const Eigen::VectorXd drawn{
      {0.565773868015, 0.425389239686, 0.026812285136, 0.093537188108, -0.092711932269}};
  const Eigen::VectorXd all{
      {0.641502901292, 0.309110476588, -0.065965578931, 0.074190731948, -0.480593175762}};
  const auto with = fit_forest(sample.rows, sample.targets, settings(10, 5, true), 42);
  const auto without = fit_forest(sample.rows, sample.targets, settings(10, 5, false), 42);
  EXPECT_LT((with->predict(first) - drawn).cwiseAbs().maxCoeff(), 1e-11);
  EXPECT_LT((without->predict(first) - all).cwiseAbs().maxCoeff(), 1e-11);
}

TEST(Forest, DependsOnTheSeedOnly) {
  const ForestSample sample;
  const auto predictions = [&](std::uint32_t seed) {
    return fit_forest(sample.rows, sample.targets, settings(20, 1, true), seed)
        ->predict(sample.rows);
  };
  EXPECT_EQ(predictions(1), predictions(1));
  EXPECT_NE(predictions(1), predictions(2));
}

TEST(Forest, StaysWithinTheRangeOfItsTargets) {
  const ForestSample sample;
  const auto forest = fit_forest(sample.rows, sample.targets, settings(30, 1, true), 3);
  const Eigen::VectorXd far = forest->predict(100.0 * sample.rows);
  EXPECT_LE(far.maxCoeff(), sample.targets.maxCoeff());
  EXPECT_GE(far.minCoeff(), sample.targets.minCoeff());
}

TEST(Forest, FitsEveryRowExactlyWithoutBootstrapAndLimits) {
  const ForestSample sample;
  const auto forest = fit_forest(sample.rows, sample.targets, settings(5, 1, false), 3);
  EXPECT_TRUE(forest->predict(sample.rows).isApprox(sample.targets, 1e-12));
}

// Expected: list(ParameterSampler(space, 100, random_state=42))[:3] of scikit-learn 1.2.1.
TEST(ForestSearch, DrawsTheSettingsThatScikitLearnDraws) {
  const auto drawn = draw_settings(published_forest_space(), 100, 42);
  ASSERT_EQ(drawn.size(), 100U);
  const auto expect = [&](std::size_t at, const ForestSettings& expected) {
    EXPECT_TRUE(drawn[at] == expected) << at;
  };
  expect(0, {400, FeatureShare::Log2, 30, 5, 1, true});
  expect(1, {2000, FeatureShare::Log2, 10, 5, 1, true});
  expect(2, {1200, FeatureShare::Log2, 10, 5, 2, false});
}

TEST(ForestSearch, DrawsNoSettingsTwiceAndAllOfASmallSpace) {
  const ForestSearchSpace space{.trees = {1, 2},
                                .features = {FeatureShare::All},
                                .max_depth = {std::nullopt},
                                .min_samples_split = {2, 3, 4},
                                .min_samples_leaf = {1},
                                .bootstrap = {true}};
  const auto drawn = draw_settings(space, 100, 7);
  ASSERT_EQ(drawn.size(), 6U);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    EXPECT_EQ(std::count(drawn.begin(), drawn.end(), drawn[i]), 1);
  }
}

// Expected: cross_val_score(RandomForestRegressor(random_state=42, …), rows, targets, cv=5).mean()
// of scikit-learn 1.2.1.
TEST(ForestSearch, ScoresAsScikitLearnDoesAndTakesTheBest) {
  const ForestSample sample;
  const std::vector<ForestSettings> candidates = {
      {10, FeatureShare::Log2, 1, 2, 5, true},
      {20, FeatureShare::Sqrt, std::nullopt, 2, 7, true},
      {10, FeatureShare::Sqrt, 2, 10, 4, false},
  };
  const ForestSearch search = search_forest(sample.rows, sample.targets, candidates, 5, 42);
  EXPECT_NEAR(search.scores[0], -0.09160346259829807, 1e-11);
  EXPECT_NEAR(search.scores[1], 0.029588134399180975, 1e-11);
  EXPECT_NEAR(search.scores[2], -0.07645767985234393, 1e-11);
  EXPECT_EQ(search.best, 1U);
}

// Mean R² over the folds of a forest that shares no trees.
double score_by_itself(const std::vector<FoldData>& folds,
                       const ForestSettings& forest_settings,
                       std::uint32_t seed) {
  double score = 0.0;
  for (const FoldData& fold : folds) {
    const auto forest = fit_forest(fold.train_rows, fold.train_targets, forest_settings, seed);
    const double residual = (forest->predict(fold.test_rows) - fold.test_targets).squaredNorm();
    const double total =
        (fold.test_targets.array() - fold.test_targets.mean()).matrix().squaredNorm();
    score += (1.0 - residual / total) / static_cast<double>(folds.size());
  }
  return score;
}

std::vector<ForestSettings> candidates_that_share_trees() {
  std::vector<ForestSettings> candidates;
  for (const std::optional<std::size_t> depth : {std::optional<std::size_t>(3), {}}) {
    for (const std::size_t trees : {4U, 9U}) {
      for (const std::size_t split : {2U, 5U}) {
        candidates.push_back({trees, FeatureShare::Sqrt, depth, split, 3, trees == 9});
        candidates.push_back({trees, FeatureShare::Log2, depth, split, 1, true});
      }
    }
  }
  return candidates;
}

// The shortcuts of the search against forests grown one by one.
TEST(ForestSearch, GivesEachCandidateItsOwnScore) {
  const ForestSample sample;
  const std::vector<ForestSettings> candidates = candidates_that_share_trees();
  ASSERT_EQ(candidates.size(), 16U);
  const std::vector<FoldData> folds = fold_data(sample.rows, sample.targets, 4);
  const ForestSearch search = search_forest(sample.rows, sample.targets, candidates, 4, 5);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_NEAR(search.scores[i], score_by_itself(folds, candidates[i], 5), 1e-12) << i;
  }
  EXPECT_EQ(search.scores[search.best],
            *std::max_element(search.scores.begin(), search.scores.end()));
}

}  // namespace
}  // namespace carpool::learn
