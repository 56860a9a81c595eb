// A sum of regression trees: the fitted form of random forests and boosted trees.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "learn/regressor.hpp"

namespace carpool::learn {

// A node of a tree in preorder: the left child of a split is the next node.
struct TreeNode {
  double value = 0.0;         // leaf: the prediction; split: rows with input <= value go left
  std::int32_t feature = -1;  // -1: leaf
  std::int32_t skip = 0;      // split: distance to the right child
};

using Tree = std::vector<TreeNode>;

// offset + sum of the trees / divisor. Inputs are compared in single precision, as in scikit-learn
// and XGBoost.
class TreeEnsemble final : public Regressor {
 public:
  TreeEnsemble(Eigen::Index inputs, double offset, double divisor);

  // The tree must be valid, see from_json().
  void add(const Tree& tree);

  [[nodiscard]] std::size_t size() const { return sizes_.size(); }

  [[nodiscard]] std::string_view kind() const override { return kKind; }
  [[nodiscard]] Eigen::Index inputs() const override { return inputs_; }
  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& rows) const override;
  [[nodiscard]] nlohmann::json to_json() const override;

  // Refuses values that are not finite, features beyond the inputs and children outside the tree.
  [[nodiscard]] static Result<std::unique_ptr<Regressor>> from_json(const nlohmann::json& stored);

  static constexpr std::string_view kKind = "trees";

 private:
  Eigen::Index inputs_;
  double offset_;
  double divisor_;
  std::vector<std::uint32_t> sizes_;  // nodes of each tree
  std::vector<TreeNode> nodes_;       // of all trees, one after the other
};

// The prediction of one tree for one row of inputs.
[[nodiscard]] double predict_tree(const TreeNode* root, const float* inputs);

}  // namespace carpool::learn
