#include "assign/exact_search.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "assign/subset_search.hpp"

namespace carpool::assign {
namespace {

int placed(const std::vector<MemberSet>& groups) {
  return std::accumulate(groups.begin(), groups.end(), 0, [](int sum, MemberSet group) {
    return sum + std::popcount(group);
  });
}

}  // namespace

ExactSearch::ExactSearch(GroupValues& values, std::size_t gpus, std::size_t max_per_gpu)
    : workloads_(values.workloads()), gpus_(gpus) {
  std::vector<Member> members(workloads_);
  std::iota(members.begin(), members.end(), Member{0});
  std::vector<MemberSet> sets;
  std::vector<GroupValues::Key> keys;
  for (MemberSet set = 1; set < MemberSet{1} << workloads_; ++set) {
    if (static_cast<std::size_t>(std::popcount(set)) <= max_per_gpu) {
      sets.push_back(set);
      keys.push_back(values.key(members, set));
    }
  }
  values.require(keys);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (const GroupValue& value = values.at(keys[i]); value.feasible) {
      allowed_.push_back({sets[i], value});
    }
  }
}

std::vector<MemberSet> ExactSearch::solve(float threshold) const {
  std::vector<double> values(std::size_t{1} << workloads_,
                             -std::numeric_limits<double>::infinity());
  for (const AllowedGroup& group : allowed_) {
    if (group.value.worst >= threshold) {
      values[group.set] = group.value.value;
    }
  }
  return best_grouping(workloads_, gpus_, values);
}

Grouping ExactSearch::to_grouping(const std::vector<MemberSet>& groups) const {
  Grouping grouping;
  for (const MemberSet group : groups) {
    std::vector<Member>& members = grouping.emplace_back();
    for (Member member = 0; member < workloads_; ++member) {
      if ((group >> member & 1U) != 0) {
        members.push_back(member);
      }
    }
  }
  return grouping;
}

Grouping ExactSearch::best_sum() const {
  return to_grouping(solve(kAnyProgress));
}

Grouping ExactSearch::best_bottleneck() const {
  std::vector<float> thresholds = {kAnyProgress};
  for (const AllowedGroup& group : allowed_) {
    thresholds.push_back(group.value.worst);
  }
  std::ranges::sort(thresholds);
  const auto repeated = std::ranges::unique(thresholds);
  thresholds.erase(repeated.begin(), repeated.end());
  // If a threshold allows this many to be placed, every lower one does.
  const int most = placed(solve(kAnyProgress));
  const auto first_bad =
      std::partition_point(thresholds.begin() + 1, thresholds.end(), [&](float threshold) {
        return placed(solve(threshold)) == most;
      });
  return to_grouping(solve(*(first_bad - 1)));
}

}  // namespace carpool::assign
