// A decision tree whose leaves name one of several known answers: the one with the lowest mean
// cost, and how often a clearly larger or smaller one was right. Internal to estimate/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace carpool::estimate {

struct LeafChoice {
  struct Other {
    std::uint8_t answer = 0;  // the most frequent one
    double share = 0.0;       // of the cases, rounded to four digits; 0: none
  };
  std::uint8_t expected = 0;  // number of an answer
  Other larger{};
  Other smaller{};
};

class ChoiceTree {
 public:
  // In preorder: the left child of a split is the next node.
  struct Node {
    double threshold = 0.0;   // inputs up to it go left
    std::int32_t input = -1;  // -1: leaf
    std::int32_t skip = 0;    // split: distance to the right child
    LeafChoice choice{};      // leaf
  };

  // One leaf that names the first answer.
  ChoiceTree() : nodes_(1) {}
  // Nothing: the nodes are not a tree over these numbers of inputs and answers.
  [[nodiscard]] static std::optional<ChoiceTree> of(std::vector<Node> nodes,
                                                    std::size_t inputs,
                                                    std::size_t answers);

  [[nodiscard]] LeafChoice choose(std::span<const double> inputs) const {
    const Node* node = nodes_.data();
    while (node->input >= 0) {
      node += inputs[static_cast<std::size_t>(node->input)] <= node->threshold ? 1 : node->skip;
    }
    return node->choice;
  }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
};

// The cases that a tree is grown from.
struct ChoiceCases {
  struct Answer {
    double cost = 0.0;  // of choosing it
    double size = 0.0;  // logarithm
  };
  std::size_t inputs = 0;
  std::size_t answers = 0;
  std::vector<double> values{};  // inputs of the first case, then of the second …
  std::vector<Answer> judged{};  // answers of the first case, then of the second …
  [[nodiscard]] std::size_t size() const { return inputs == 0 ? 0 : values.size() / inputs; }
};

// Without cases, the tree that names the first answer.
[[nodiscard]] ChoiceTree grow_choice_tree(const ChoiceCases& cases);

}  // namespace carpool::estimate
