#include "estimate/cudnn/choice_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace carpool::estimate {
namespace {

constexpr std::size_t kDeepest = 12;
constexpr std::size_t kLeafCases = 5;    // at least
constexpr double kWorthSplitting = 1.0;  // cases by which the impurity must fall
constexpr double kClearly = 0.25;        // difference of the logarithms of sizes

struct Split {
  std::size_t input = 0;
  double threshold = 0.0;
  double purity = 0.0;  // of both sides
};

double purity_of(const std::vector<double>& counts, double cases) {
  double squares = 0.0;
  for (const double count : counts) {
    squares += count * count;
  }
  return squares / cases;
}

// The share is that of all counts: the most frequent answer represents the others.
LeafChoice::Other most_frequent(const std::vector<double>& counts, double cases) {
  constexpr double kDigits = 1e4;
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  return {.answer = static_cast<std::uint8_t>(std::ranges::max_element(counts) - counts.begin()),
          .share = std::round(kDigits * all / cases) / kDigits};
}

bool is_sound(const LeafChoice::Other& other, std::size_t answers) {
  return other.answer < answers && other.share >= 0.0 && other.share <= 1.0;
}

class Grower {
 public:
  explicit Grower(const ChoiceCases& cases)
      : cases_(cases), best_(cases.size()), left_(cases.answers), right_(cases.answers) {
    for (std::size_t one = 0; one < best_.size(); ++one) {
      for (std::size_t number = 1; number < cases.answers; ++number) {
        best_[one] = answer(one, number).cost < answer(one, best_[one]).cost ? number : best_[one];
      }
    }
  }

  std::vector<ChoiceTree::Node> grow() {
    std::vector<std::size_t> all(cases_.size());
    std::iota(all.begin(), all.end(), 0);
    add(all, 0);
    return std::move(nodes_);
  }

 private:
  using Cases = std::span<std::size_t>;

  [[nodiscard]] double value(std::size_t one, std::size_t input) const {
    return cases_.values[one * cases_.inputs + input];
  }
  [[nodiscard]] const ChoiceCases::Answer& answer(std::size_t one, std::size_t number) const {
    return cases_.judged[one * cases_.answers + number];
  }

  [[nodiscard]] std::vector<double> costs_of(Cases cases) const {
    std::vector<double> sums(cases_.answers, 0.0);
    for (const std::size_t one : cases) {
      for (std::size_t number = 0; number < sums.size(); ++number) {
        sums[number] += answer(one, number).cost;
      }
    }
    return sums;
  }

  [[nodiscard]] LeafChoice choice_of(Cases cases) {
    const std::vector<double> costs = costs_of(cases);
    const auto expected = static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
    std::ranges::fill(left_, 0.0);
    std::ranges::fill(right_, 0.0);
    for (const std::size_t one : cases) {
      const double size = answer(one, best_[one]).size;
      const double named = answer(one, expected).size;
      if (size > named + kClearly) {
        ++right_[best_[one]];
      } else if (size < named - kClearly) {
        ++left_[best_[one]];
      }
    }
    const auto count = static_cast<double>(cases.size());
    return {.expected = static_cast<std::uint8_t>(expected),
            .larger = most_frequent(right_, count),
            .smaller = most_frequent(left_, count)};
  }

  // Sorts the cases by the input. A split is good where each side has about one best answer; costs
  // alone would never separate rare answers.
  void improve(Cases cases, std::size_t input, std::optional<Split>& best) {
    std::ranges::sort(cases, {}, [this, input](std::size_t one) { return value(one, input); });
    std::ranges::fill(left_, 0.0);
    std::ranges::fill(right_, 0.0);
    for (const std::size_t one : cases) {
      ++right_[best_[one]];
    }
    for (std::size_t taken = 1; taken + kLeafCases <= cases.size(); ++taken) {
      ++left_[best_[cases[taken - 1]]];
      --right_[best_[cases[taken - 1]]];
      const double here = value(cases[taken - 1], input);
      const double next = value(cases[taken], input);
      if (taken < kLeafCases || here >= next) {
        continue;
      }
      const double purity = purity_of(left_, static_cast<double>(taken)) +
                            purity_of(right_, static_cast<double>(cases.size() - taken));
      if (!best || purity > best->purity + 1e-9) {
        best = Split{.input = input, .threshold = std::midpoint(here, next), .purity = purity};
      }
    }
  }

  [[nodiscard]] double purity_of_all(Cases cases) {
    std::ranges::fill(right_, 0.0);
    for (const std::size_t one : cases) {
      ++right_[best_[one]];
    }
    return purity_of(right_, static_cast<double>(cases.size()));
  }

  void add(std::vector<std::size_t> cases, std::size_t depth) {
    const std::size_t own = nodes_.size();
    nodes_.push_back({.choice = choice_of(cases)});
    if (depth == kDeepest || cases.size() < 2 * kLeafCases) {
      return;
    }
    std::optional<Split> best;
    for (std::size_t input = 0; input < cases_.inputs; ++input) {
      improve(cases, input, best);
    }
    if (!best || best->purity < purity_of_all(cases) + kWorthSplitting) {
      return;
    }
    const auto right = std::ranges::partition(
        cases, [&](std::size_t one) { return value(one, best->input) <= best->threshold; });
    const std::vector<std::size_t> others(right.begin(), right.end());
    cases.erase(right.begin(), right.end());
    add(std::move(cases), depth + 1);
    ChoiceTree::Node& node = nodes_[own];
    node = {.threshold = best->threshold,
            .input = static_cast<std::int32_t>(best->input),
            .skip = static_cast<std::int32_t>(nodes_.size() - own)};
    add(others, depth + 1);
  }

  const ChoiceCases& cases_;
  std::vector<std::size_t> best_;  // answer of each case
  std::vector<double> left_;       // how often each answer is best on the left of a split
  std::vector<double> right_;
  std::vector<ChoiceTree::Node> nodes_;
};

}  // namespace

std::optional<ChoiceTree> ChoiceTree::of(std::vector<Node> nodes,
                                         std::size_t inputs,
                                         std::size_t answers) {
  const auto count = static_cast<std::int64_t>(nodes.size());
  for (std::int64_t index = 0; index < count; ++index) {
    const Node& node = nodes[static_cast<std::size_t>(index)];
    const bool leaf = node.input == -1 && node.choice.expected < answers &&
                      is_sound(node.choice.larger, answers) &&
                      is_sound(node.choice.smaller, answers);
    // Children come after their parent, so that every walk ends.
    const bool split = node.input >= 0 && static_cast<std::size_t>(node.input) < inputs &&
                       node.skip >= 2 && index + node.skip < count;
    if (!leaf && !split) {
      return std::nullopt;
    }
  }
  if (nodes.empty()) {
    return std::nullopt;
  }
  ChoiceTree tree;
  tree.nodes_ = std::move(nodes);
  return tree;
}

ChoiceTree grow_choice_tree(const ChoiceCases& cases) {
  if (cases.size() == 0) {
    return {};
  }
  return ChoiceTree::of(Grower(cases).grow(), cases.inputs, cases.answers).value_or(ChoiceTree());
}

}  // namespace carpool::estimate
