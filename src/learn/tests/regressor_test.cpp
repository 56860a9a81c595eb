// The contract of every regressor: it is restored from JSON unchanged, and broken JSON is an error.
#include "learn/regressor.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "base/text/digest.hpp"
#include "learn/boosting.hpp"
#include "learn/forest.hpp"
#include "learn/gaussian_process.hpp"
#include "learn/linear.hpp"
#include "learn/mlp.hpp"

namespace carpool::learn {
namespace {

Eigen::MatrixXd sample_rows() {
  Eigen::MatrixXd rows(20, 3);
  for (Eigen::Index i = 0; i < rows.size(); ++i) {
    rows.reshaped()(i) = std::sin(13.0 * static_cast<double>(i));
  }
  return rows;
}

std::unique_ptr<Regressor> fitted(const std::string& name) {
  const Eigen::MatrixXd rows = sample_rows();
  const Eigen::VectorXd targets = rows.col(0) + rows.col(1).cwiseProduct(rows.col(2));
  if (name == "linear") {
    return fit_least_squares(rows, targets);
  }
  if (name == "forest") {
    return fit_forest(rows, targets, {.trees = 7}, 1);
  }
  if (name == "boosted") {
    return *fit_boosted_trees(rows, targets, {.rounds = 5}, 1);
  }
  if (name == "mlp") {
    return fit_mlp(rows, targets, {.hidden = {4, 3}, .epochs = 3}, 1);
  }
  return *fit_gaussian_process(rows, targets);
}

class EveryRegressor : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All,
                         EveryRegressor,
                         testing::Values("linear", "forest", "boosted", "mlp", "gaussian"),
                         [](const auto& instance) { return instance.param; });

TEST_P(EveryRegressor, IsRestoredFromJson) {
  const auto before = fitted(GetParam());
  const auto after = regressor_from_json(nlohmann::json::parse(before->to_json().dump()));
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_EQ((*after)->kind(), before->kind());
  EXPECT_EQ((*after)->inputs(), 3);
  EXPECT_EQ((*after)->predict(sample_rows()), before->predict(sample_rows()));
}

bool is_refused(const nlohmann::json& stored) {
  const auto read = regressor_from_json(stored);
  return !read && read.error().code == ErrorCode::Corrupt;
}

TEST_P(EveryRegressor, RefusesAMissingOrWrongEntry) {
  const nlohmann::json good = fitted(GetParam())->to_json();
  const std::vector<nlohmann::json> wrong = {nullptr,
                                             "?",
                                             {{"a", 1}},
                                             nlohmann::json::array({nullptr}),
                                             std::numeric_limits<double>::infinity()};
  for (const auto& [key, value] : good.items()) {
    nlohmann::json broken = good;
    broken.erase(key);
    EXPECT_TRUE(is_refused(broken)) << key;
    for (const nlohmann::json& by : wrong) {
      broken[key] = by;
      EXPECT_TRUE(is_refused(broken)) << key << " = " << by.dump();
    }
  }
}

TEST(RegressorFromJson, RefusesOtherValues) {
  for (const char* text : {"null", "[]", "3", R"({"kind": 3})", R"({"kind": "oracle"})"}) {
    EXPECT_TRUE(is_refused(nlohmann::json::parse(text))) << text;
  }
}

nlohmann::json stored_tree(const Tree& tree, std::uint32_t size) {
  return {{"kind", "trees"},
          {"inputs", 2},
          {"offset", 0.0},
          {"divisor", 1.0},
          {"sizes", base64_encode({reinterpret_cast<const char*>(&size), sizeof size})},
          {"nodes",
           base64_encode(
               {reinterpret_cast<const char*>(tree.data()), tree.size() * sizeof(TreeNode)})}};
}

TEST(RegressorFromJson, RefusesTreesWithChildrenOutsideThem) {
  const Tree good = {{0.5, 1, 2}, {1.0, -1, 0}, {2.0, -1, 0}};
  ASSERT_FALSE(is_refused(stored_tree(good, 3)));
  const std::vector<std::pair<std::size_t, TreeNode>> broken = {
      {0, {0.5, 1, 3}},   // right child behind the end
      {0, {0.5, 1, 1}},   // right child is the left one
      {0, {0.5, 1, -1}},  // backwards: an endless walk
      {0, {0.5, 2, 2}},   // no such column
      {0, {0.5, -2, 2}},  // neither leaf nor column
      {2, {0.5, 0, 2}},   // a split without children
      {1, {std::nan(""), -1, 0}},
  };
  for (const auto& [at, node] : broken) {
    Tree tree = good;
    tree[at] = node;
    EXPECT_TRUE(is_refused(stored_tree(tree, 3))) << node.feature << ' ' << node.skip;
  }
}

TEST(RegressorFromJson, RefusesTreesOfAnotherSizeThanStated) {
  const Tree tree = {{0.5, 1, 2}, {1.0, -1, 0}, {2.0, -1, 0}};
  EXPECT_TRUE(is_refused(stored_tree(tree, 2)));
  EXPECT_TRUE(is_refused(stored_tree(tree, 4)));
  EXPECT_TRUE(is_refused(stored_tree({}, 0)));
}

TEST(RegressorFromJson, RefusesLayersThatDoNotFit) {
  for (const char* layers :
       {R"([{"weights": [[1, 2]], "bias": [1, 2]}])",    // two outputs
        R"([{"weights": [[1], [2]], "bias": [1, 2]}])",  // a bias too many
        R"([{"weights": [[1, 2]], "bias": [1, 2]}, {"weights": [[1]], "bias": [1]}])",
        R"([{"weights": [[1], [2, 3]], "bias": [1]}])",
        R"([{"weights": [], "bias": []}])",
        R"([{"weights": [[]], "bias": []}])",
        R"([])"}) {
    const nlohmann::json stored = {{"kind", "mlp"}, {"layers", nlohmann::json::parse(layers)}};
    EXPECT_TRUE(is_refused(stored)) << layers;
  }
}

TEST(RegressorFromJson, RefusesAGaussianProcessWithoutAWeightForEachRow) {
  const nlohmann::json stored = {{"kind", "gaussian-process"},
                                 {"rows", {{1.0}, {2.0}}},
                                 {"weights", {1.0}},
                                 {"mean", 0.0},
                                 {"length", 1.0}};
  EXPECT_TRUE(is_refused(stored));
}

}  // namespace
}  // namespace carpool::learn
