// Grows one regression tree (CART, least squared error) as scikit-learn does: the same seed gives
// the same tree, except for splits of equal gain, whose order depends on rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "learn/tree_ensemble.hpp"

namespace carpool::learn {

struct TreeSettings {
  std::size_t max_features = 1;                         // considered for each split, at least 1
  std::optional<std::size_t> max_depth = std::nullopt;  // of a leaf; the root has depth 0
  std::size_t min_samples_split = 2;                    // smaller nodes become leaves
  std::size_t min_samples_leaf = 1;                     // of either side of a split
};

// Keeps the rows sorted by every feature, so that splits need not sort. Not thread-safe: it also
// contains the state of the current tree.
class TreeGrower {
 public:
  TreeGrower(const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets);

  // `counts`: how often each row is taken (0: not at all); `seed`: of the choice of features. The
  // result is valid until the next call.
  [[nodiscard]] const Tree& grow(const TreeSettings& settings,
                                 std::span<const std::uint32_t> counts,
                                 std::uint32_t seed);

  // Depth of the deepest leaf of the last tree.
  [[nodiscard]] std::size_t depth() const { return depth_; }

 private:
  struct Pending {
    std::size_t begin = 0;  // of the node's rows in taken_
    std::size_t end = 0;
    std::size_t depth = 0;
    std::size_t known_constants = 0;  // features that do not vary among the parent's rows
    std::optional<std::size_t> right_of = std::nullopt;  // index of the parent, for its skip
  };
  struct Totals {
    double weight = 0.0;
    double sum = 0.0;
    double squares = 0.0;
  };
  struct Split {
    std::size_t feature = 0;
    double threshold = 0.0;
    double gain = 0.0;  // Σ sum² / weight of both sides
  };

  void start(std::span<const std::uint32_t> counts, std::uint32_t seed);
  [[nodiscard]] Totals totals(const Pending& node) const;
  [[nodiscard]] bool is_leaf(const Pending& node, const Totals& totals) const;
  [[nodiscard]] std::optional<Split> best_split(Pending& node, const Totals& totals);
  void sort_rows(const Pending& node, std::size_t feature);
  void improve(std::optional<Split>& best, const Totals& totals, std::size_t feature) const;
  [[nodiscard]] std::size_t draw(std::size_t low, std::size_t high);
  [[nodiscard]] float value(std::size_t feature, std::uint32_t row) const {
    return values_[feature * row_count_ + row];
  }

  std::size_t row_count_;
  std::size_t feature_count_;
  std::vector<float> values_;  // by feature, then row
  std::vector<double> targets_;
  std::vector<std::uint32_t> rank_;     // by feature, then row: its place in the sorted order
  std::vector<std::uint32_t> by_rank_;  // by feature, then rank: the row

  TreeSettings settings_;
  std::vector<double> weights_;         // how often each row is taken
  std::vector<std::uint32_t> taken_;    // rows with a weight; each node is a range of them
  std::vector<std::uint32_t> sorted_;   // rows of the node, sorted by the current feature
  std::vector<std::uint64_t> present_;  // bit r: the row of rank r is in the node
  std::vector<std::size_t> features_;   // known constants first
  std::vector<std::size_t> constants_;  // their order, restored for sibling nodes
  std::vector<Pending> pending_;
  std::uint32_t random_ = 1;
  std::size_t depth_ = 0;
  Tree tree_;
};

}  // namespace carpool::learn
