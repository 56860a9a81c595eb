#include "assign/pair_search.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "assign/dense_matching.hpp"
#include "assign/matching.hpp"

namespace carpool::assign {
namespace {

constexpr float kAnyProgress = -std::numeric_limits<float>::infinity();
constexpr float kNoPairs = std::numeric_limits<float>::infinity();

std::size_t surplus(std::size_t items, std::size_t gpus) {
  return items > 2 * gpus ? items - 2 * gpus : 0;
}

}  // namespace

PairSearch::PairSearch(GroupValues& values, std::size_t gpus)
    : values_(values), items_(values.items()), gpus_(std::min(gpus, items_)) {
  values.require_all_pairs();
}

std::size_t PairSearch::vertices(std::size_t items, std::size_t gpus) {
  return 2 * (std::min(gpus, items) + surplus(items, gpus));
}

// G GPUs have 2G seats. With room for `left_over` items outside there are 2G - N + left_over empty
// seats: a workload matched with one is alone, two of them are an empty GPU, and one matched with
// an unused place outside is the seat of nobody. So every perfect matching is an assignment to G
// GPUs.
PairSearch::Meaning PairSearch::meaning(std::size_t first,
                                        std::size_t second,
                                        std::size_t left_over) const {
  const std::size_t outside = 2 * gpus_ + left_over;  // first vertex that is a place outside
  if (second < items_) {
    return Meaning::Pair;
  }
  if (first < items_) {
    return second < outside ? Meaning::Alone : Meaning::LeftOver;
  }
  return first < outside ? Meaning::Unused : Meaning::Never;
}

bool PairSearch::allowed(std::size_t first, std::size_t second, float threshold) const {
  const GroupValue& pair = values_.pair(static_cast<Item>(first), static_cast<Item>(second));
  return pair.feasible && pair.worst >= threshold;
}

PairSearch::Solution PairSearch::solve(std::size_t left_over, float threshold) const {
  PairWeights weights(2 * (gpus_ + left_over));
  for (std::size_t second = 1; second < weights.vertices(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      PairWeight& weight = weights.at(first, second);
      switch (meaning(first, second, left_over)) {
        case Meaning::Pair:
          weight.value = values_.pair(static_cast<Item>(first), static_cast<Item>(second)).value;
          weight.rank = allowed(first, second, threshold) ? 0 : 2;
          break;
        case Meaning::Alone:
          weight.value = values_.single(static_cast<Item>(first)).value;
          break;
        case Meaning::Unused:
          break;
        case Meaning::LeftOver:
          weight.rank = 1;
          break;
        case Meaning::Never:
          weight.rank = 2;
          break;
      }
    }
  }
  const std::vector<int> partner = dense_perfect_matching(weights);
  Solution solution;
  for (std::size_t first = 0; first < items_; ++first) {
    const auto second = static_cast<std::size_t>(partner[first]);
    if (second < first) {
      continue;
    }
    const Meaning found = meaning(first, second, left_over);
    if (found == Meaning::Alone) {
      solution.groups.push_back({static_cast<Item>(first)});
    } else if (found == Meaning::Pair && allowed(first, second, threshold)) {
      solution.groups.push_back({static_cast<Item>(first), static_cast<Item>(second)});
    } else if (found == Meaning::Pair) {
      ++solution.broken;
    }
  }
  return solution;
}

Grouping PairSearch::best_sum() const {
  const std::size_t must_wait = surplus(items_, gpus_);
  Solution solution = solve(must_wait, kAnyProgress);
  if (solution.broken > 0) {
    // One of each broken pair can always go, so this many places outside are enough; and since a
    // broken pair weighs as three left over, none is broken now.
    solution = solve(must_wait + solution.broken, kAnyProgress);
  }
  return std::move(solution.groups);
}

// With p pairs the N - left_over placed items take N - left_over - p GPUs.
bool PairSearch::solvable(std::size_t left_over, float threshold) const {
  std::vector<std::pair<int, int>> edges;
  for (std::size_t second = 1; second < items_; ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (allowed(first, second, threshold)) {
        edges.emplace_back(static_cast<int>(first), static_cast<int>(second));
      }
    }
  }
  const auto pairs = static_cast<std::size_t>(max_matching_size(static_cast<int>(items_), edges));
  return items_ <= gpus_ + left_over + pairs;
}

Grouping PairSearch::best_bottleneck() const {
  std::size_t left_over = surplus(items_, gpus_);
  if (!solvable(left_over, kAnyProgress)) {
    left_over = items_;
    for (const std::vector<Item>& group : best_sum()) {
      left_over -= group.size();
    }
  }
  std::vector<float> thresholds = {kNoPairs};
  for (std::size_t second = 1; second < items_; ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (allowed(first, second, kAnyProgress)) {
        thresholds.push_back(
            values_.pair(static_cast<Item>(first), static_cast<Item>(second)).worst);
      }
    }
  }
  std::ranges::sort(thresholds);
  const auto repeated = std::ranges::unique(thresholds);
  thresholds.erase(repeated.begin(), repeated.end());
  // The lowest is solvable; what is solvable stays so below.
  const auto first_bad =
      std::partition_point(thresholds.begin() + 1, thresholds.end(), [&](float threshold) {
        return solvable(left_over, threshold);
      });
  return solve(left_over, *(first_bad - 1)).groups;
}

}  // namespace carpool::assign
