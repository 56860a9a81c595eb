#include "assign/pair_search.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "assign/dense_matching.hpp"
#include "assign/matching.hpp"

namespace carpool::assign {
namespace {

constexpr float kNoPairs = std::numeric_limits<float>::infinity();

std::size_t surplus(std::size_t workloads, std::size_t gpus) {
  return workloads > 2 * gpus ? workloads - 2 * gpus : 0;
}

}  // namespace

PairSearch::PairSearch(GroupValues& values, std::size_t gpus)
    : values_(values), workloads_(values.workloads()), gpus_(std::min(gpus, workloads_)) {
  values.require_all_pairs();
}

std::size_t PairSearch::vertices(std::size_t workloads, std::size_t gpus) {
  return 2 * (std::min(gpus, workloads) + surplus(workloads, gpus));
}

// G GPUs have 2G places. With room for `left_over` workloads outside, 2G - N + left_over places
// stay empty: a workload matched with one has the GPU for itself, two of them are an empty GPU, and
// one matched with an unused place outside is unused. So every perfect matching is an assignment to
// G GPUs.
PairSearch::Meaning PairSearch::meaning(std::size_t first,
                                        std::size_t second,
                                        std::size_t left_over) const {
  const std::size_t outside = 2 * gpus_ + left_over;  // first vertex that is a place outside
  if (second < workloads_) {
    return Meaning::Pair;
  }
  if (first < workloads_) {
    return second < outside ? Meaning::Single : Meaning::LeftOver;
  }
  return first < outside ? Meaning::Unused : Meaning::Never;
}

bool PairSearch::allowed(std::size_t first, std::size_t second, float threshold) const {
  const GroupValue& pair = values_.pair(static_cast<Member>(first), static_cast<Member>(second));
  return pair.feasible && pair.worst >= threshold;
}

PairSearch::Solution PairSearch::solve(std::size_t left_over, float threshold) const {
  PairWeights weights(2 * (gpus_ + left_over));
  for (std::size_t second = 1; second < weights.vertices(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      PairWeight& weight = weights.at(first, second);
      switch (meaning(first, second, left_over)) {
        case Meaning::Pair:
          weight.value =
              values_.pair(static_cast<Member>(first), static_cast<Member>(second)).value;
          weight.rank = allowed(first, second, threshold) ? 0 : 2;
          break;
        case Meaning::Single:
          weight.value = values_.single(static_cast<Member>(first)).value;
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
  for (std::size_t first = 0; first < workloads_; ++first) {
    const auto second = static_cast<std::size_t>(partner[first]);
    if (second < first) {
      continue;
    }
    const Meaning found = meaning(first, second, left_over);
    if (found == Meaning::Single) {
      solution.groups.push_back({static_cast<Member>(first)});
    } else if (found == Meaning::Pair && allowed(first, second, threshold)) {
      solution.groups.push_back({static_cast<Member>(first), static_cast<Member>(second)});
    } else if (found == Meaning::Pair) {
      ++solution.broken;
    }
  }
  return solution;
}

Grouping PairSearch::best_sum() const {
  const std::size_t must_wait = surplus(workloads_, gpus_);
  Solution solution = solve(must_wait, kAnyProgress);
  if (solution.broken > 0) {
    // One member of each broken pair can move outside, so this many places outside are enough; and
    // since a broken pair weighs as much as three left over, none is broken now.
    solution = solve(must_wait + solution.broken, kAnyProgress);
  }
  return std::move(solution.groups);
}

// With p pairs the N - left_over placed workloads take N - left_over - p GPUs.
bool PairSearch::solvable(std::size_t left_over, float threshold) const {
  std::vector<std::pair<int, int>> edges;
  for (std::size_t second = 1; second < workloads_; ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (allowed(first, second, threshold)) {
        edges.emplace_back(static_cast<int>(first), static_cast<int>(second));
      }
    }
  }
  const auto pairs =
      static_cast<std::size_t>(max_matching_size(static_cast<int>(workloads_), edges));
  return workloads_ <= gpus_ + left_over + pairs;
}

Grouping PairSearch::best_bottleneck() const {
  std::size_t left_over = surplus(workloads_, gpus_);
  if (!solvable(left_over, kAnyProgress)) {
    left_over = workloads_;
    for (const std::vector<Member>& group : best_sum()) {
      left_over -= group.size();
    }
  }
  std::vector<float> thresholds = {kNoPairs};
  for (std::size_t second = 1; second < workloads_; ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (allowed(first, second, kAnyProgress)) {
        thresholds.push_back(
            values_.pair(static_cast<Member>(first), static_cast<Member>(second)).worst);
      }
    }
  }
  std::ranges::sort(thresholds);
  const auto repeated = std::ranges::unique(thresholds);
  thresholds.erase(repeated.begin(), repeated.end());
  // The lowest threshold is solvable, and so is every one below a solvable one.
  const auto first_bad =
      std::partition_point(thresholds.begin() + 1, thresholds.end(), [&](float threshold) {
        return solvable(left_over, threshold);
      });
  return solve(left_over, *(first_bad - 1)).groups;
}

}  // namespace carpool::assign
