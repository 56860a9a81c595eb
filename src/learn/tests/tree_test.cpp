#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "learn/tree_grower.hpp"

namespace carpool::learn {
namespace {

constexpr std::array<std::uint32_t, 8> kOnce = {1, 1, 1, 1, 1, 1, 1, 1};

double predict_one(const Tree& tree, float x) {
  return predict_tree(tree.data(), &x);
}

// Cutting after 1, 2, 3 gives Σ sum²/weight = 0 + 400/3, 0 + 400/2, 100 + 100/3: the middle one.
TEST(Tree, SplitsWhereTheSquaredErrorIsLeast) {
  TreeGrower grower(Eigen::MatrixXd{{1}, {2}, {4}, {5}}, Eigen::VectorXd{{0, 0, 10, 10}});
  const Tree& tree = grower.grow({}, std::span(kOnce).first(4), 1);
  ASSERT_EQ(tree.size(), 3U);
  EXPECT_EQ(tree[0].feature, 0);
  EXPECT_DOUBLE_EQ(tree[0].value, 3.0);
  EXPECT_EQ(tree[0].skip, 2);
  EXPECT_EQ(grower.depth(), 1U);
  EXPECT_DOUBLE_EQ(predict_one(tree, 3.0F), 0.0);  // the threshold itself goes left
  EXPECT_DOUBLE_EQ(predict_one(tree, 3.1F), 10.0);
}

// Targets 0 0 0 12: without limit the last row stands alone; leaves of two rows must cut 2 | 2.
TEST(Tree, KeepsTheLeastNumberOfRowsInALeaf) {
  TreeGrower grower(Eigen::MatrixXd{{1}, {2}, {3}, {4}}, Eigen::VectorXd{{0, 0, 0, 12}});
  EXPECT_DOUBLE_EQ(grower.grow({}, std::span(kOnce).first(4), 1)[0].value, 3.5);
  const Tree& tree = grower.grow({.min_samples_leaf = 2}, std::span(kOnce).first(4), 1);
  ASSERT_EQ(tree.size(), 3U);
  EXPECT_DOUBLE_EQ(tree[0].value, 2.5);
  EXPECT_DOUBLE_EQ(tree[2].value, 6.0);
}

// Sizes of the trees that targets 1, 2, 5, 8 give: four leaves and three splits without a limit.
std::size_t limited_size(const TreeSettings& settings) {
  TreeGrower grower(Eigen::MatrixXd{{1}, {2}, {3}, {4}}, Eigen::VectorXd{{1, 2, 5, 8}});
  return grower.grow(settings, std::span(kOnce).first(4), 1).size();
}

TEST(Tree, StopsAtTheDepthLimitAndAtSmallNodes) {
  EXPECT_EQ(limited_size({}), 7U);
  EXPECT_EQ(limited_size({.max_depth = 0}), 1U);
  EXPECT_EQ(limited_size({.max_depth = 1}), 3U);
  EXPECT_EQ(limited_size({.min_samples_split = 3}), 3U);
  EXPECT_EQ(limited_size({.min_samples_split = 5}), 1U);
}

// One leaf: (3 · 2 + 1 · 10 + 0 · 99) / 4.
TEST(Tree, WeighsRowsByHowOftenTheyAreTaken) {
  TreeGrower grower(Eigen::MatrixXd{{1}, {2}, {3}}, Eigen::VectorXd{{2, 10, 99}});
  const std::vector<std::uint32_t> counts = {3, 1, 0};
  const Tree& tree = grower.grow({.max_depth = 0}, counts, 1);
  EXPECT_DOUBLE_EQ(tree[0].value, 4.0);
}

// Whatever is drawn first, a feature that does not vary is passed over for one that does.
TEST(Tree, LooksOnUntilAFeatureVaries) {
  const Eigen::MatrixXd rows{{7, 1, 3}, {7, 2, 3}, {7, 3, 3}, {7, 4, 3}};
  TreeGrower grower(rows, Eigen::VectorXd{{0, 1, 2, 3}});
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    const Tree& tree = grower.grow({}, std::span(kOnce).first(4), seed);
    ASSERT_EQ(tree.size(), 7U);
    EXPECT_EQ(tree[0].feature, 1);
  }
}

TEST(Tree, IsALeafWhenNoFeatureVaries) {
  TreeGrower grower(Eigen::MatrixXd{{7, 3}, {7, 3}}, Eigen::VectorXd{{0, 1}});
  const Tree& tree = grower.grow({}, std::span(kOnce).first(2), 5);
  ASSERT_EQ(tree.size(), 1U);
  EXPECT_DOUBLE_EQ(tree[0].value, 0.5);
}

}  // namespace
}  // namespace carpool::learn
