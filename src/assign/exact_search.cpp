#include "assign/exact_search.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "assign/subset_search.hpp"

namespace carpool::assign {
namespace {

constexpr float kAnyProgress = -std::numeric_limits<float>::infinity();

int placed(const std::vector<ItemSet>& groups) {
  return std::accumulate(groups.begin(), groups.end(), 0, [](int sum, ItemSet group) {
    return sum + std::popcount(group);
  });
}

}  // namespace

ExactSearch::ExactSearch(GroupValues& values, std::size_t gpus, std::size_t max_per_gpu)
    : items_(values.items()), gpus_(gpus) {
  std::vector<Item> items(items_);
  std::iota(items.begin(), items.end(), Item{0});
  std::vector<ItemSet> sets;
  std::vector<GroupValues::Key> keys;
  for (ItemSet set = 1; set < ItemSet{1} << items_; ++set) {
    if (static_cast<std::size_t>(std::popcount(set)) <= max_per_gpu) {
      sets.push_back(set);
      keys.push_back(values.key(items, set));
    }
  }
  values.require(keys);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (const GroupValue& value = values.at(keys[i]); value.feasible) {
      candidates_.push_back({sets[i], value});
    }
  }
}

std::vector<ItemSet> ExactSearch::solve(float threshold) const {
  std::vector<double> values(std::size_t{1} << items_, -std::numeric_limits<double>::infinity());
  for (const Candidate& candidate : candidates_) {
    if (candidate.value.worst >= threshold) {
      values[candidate.set] = candidate.value.value;
    }
  }
  return best_partition(items_, gpus_, values);
}

Grouping ExactSearch::told(const std::vector<ItemSet>& groups) const {
  Grouping grouping;
  for (const ItemSet group : groups) {
    std::vector<Item>& members = grouping.emplace_back();
    for (Item item = 0; item < items_; ++item) {
      if ((group >> item & 1U) != 0) {
        members.push_back(item);
      }
    }
  }
  return grouping;
}

Grouping ExactSearch::best_sum() const {
  return told(solve(kAnyProgress));
}

Grouping ExactSearch::best_bottleneck() const {
  std::vector<float> thresholds = {kAnyProgress};
  for (const Candidate& candidate : candidates_) {
    thresholds.push_back(candidate.value.worst);
  }
  std::ranges::sort(thresholds);
  const auto repeated = std::ranges::unique(thresholds);
  thresholds.erase(repeated.begin(), repeated.end());
  // What places as many at some threshold does so at every lower one.
  const int most = placed(solve(kAnyProgress));
  const auto first_bad =
      std::partition_point(thresholds.begin() + 1, thresholds.end(), [&](float threshold) {
        return placed(solve(threshold)) == most;
      });
  return told(solve(*(first_bad - 1)));
}

}  // namespace carpool::assign
