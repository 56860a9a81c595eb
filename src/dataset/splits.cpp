#include "dataset/splits.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/numpy_random.hpp"

namespace carpool::dataset {
namespace {

// The published trainer divides its training file once more and fits on 80 % of it.
constexpr double kHoldoutFraction = 0.2;
constexpr std::uint32_t kHoldoutSeed = 30;

void divide_training(const std::vector<std::size_t>& training, Split& split) {
  if (training.size() < 2) {
    split.fit = training;
    return;
  }
  const HoldOut parts = train_test_split(training.size(), kHoldoutFraction, kHoldoutSeed);
  for (const std::size_t at : parts.train) {
    split.fit.push_back(training[at]);
  }
  for (const std::size_t at : parts.test) {
    split.holdout.push_back(training[at]);
  }
}

std::vector<std::size_t> sorted_members(const GroupRow& row) {
  std::vector<std::size_t> members;
  members.reserve(row.members.size());
  for (const GroupMember& member : row.members) {
    members.push_back(member.profile);
  }
  std::sort(members.begin(), members.end());
  return members;
}

bool are_equal(const Group& members) {
  return std::all_of(members.begin(), members.end(), [&members](const GroupMember& member) {
    return member.profile == members.front().profile;
  });
}

// Whether two profiles are the same network doing the same thing, whatever the batch size.
bool is_relative(const Profile& a, const Profile& b) {
  return !a.model.empty() && a.model == b.model && a.task == b.task;
}

}  // namespace

std::vector<std::size_t> Split::training() const {
  std::vector<std::size_t> rows = fit;
  rows.insert(rows.end(), holdout.begin(), holdout.end());
  return rows;
}

Split n_occur_split(const GroupTable& table, int n_occur, std::uint32_t seed) {
  Split split;
  split.label = fmt::format("n_occur {}, seed {}", n_occur, seed);
  std::map<std::size_t, int> taken;
  std::vector<std::size_t> training;
  NumpyRandom random(seed);
  for (const std::size_t position : random.permutation(table.rows.size())) {
    const Group& members = table.rows[position].members;
    const bool wanted = std::any_of(members.begin(), members.end(), [&](const GroupMember& member) {
      return taken[member.profile] < n_occur;
    });
    if (are_equal(members) || !wanted) {
      split.test.push_back(position);
      continue;
    }
    training.push_back(position);
    for (const GroupMember& member : members) {
      ++taken[member.profile];
    }
  }
  divide_training(training, split);
  return split;
}

Split random_split(const GroupTable& table, double train_fraction, std::uint32_t seed) {
  // The unit of the draw is a set of equal rows, in order of first appearance.
  std::map<std::vector<std::size_t>, std::size_t> index;
  std::vector<std::vector<std::size_t>> sets;
  for (std::size_t position = 0; position < table.rows.size(); ++position) {
    const auto [found, added] = index.emplace(sorted_members(table.rows[position]), sets.size());
    if (added) {
      sets.emplace_back();
    }
    sets[found->second].push_back(position);
  }
  Split split;
  split.label = fmt::format("train_fraction {}, seed {}", train_fraction, seed);
  const double wanted = std::round(train_fraction * static_cast<double>(sets.size()));
  const double most = static_cast<double>(sets.size()) - 1.0;
  const auto count = static_cast<std::size_t>(std::fmax(1.0, std::fmin(wanted, most)));
  std::vector<std::size_t> training;
  NumpyRandom random(seed);
  std::size_t drawn = 0;
  for (const std::size_t set : random.permutation(sets.size())) {
    std::vector<std::size_t>& side = drawn++ < count ? training : split.test;
    side.insert(side.end(), sets[set].begin(), sets[set].end());
  }
  divide_training(training, split);
  return split;
}

std::vector<Split> leave_one_out_splits(const Dataset& dataset, const GroupTable& table) {
  std::vector<Split> splits;
  for (std::size_t target = 0; target < dataset.profiles.size(); ++target) {
    const Profile& left_out = dataset.profiles[target];
    const auto is_related = [&](const GroupMember& member) {
      return member.profile == target || is_relative(dataset.profiles[member.profile], left_out);
    };
    Split split;
    split.label = fmt::format("target {}", left_out.workload);
    split.target = target;
    std::vector<std::size_t> training;
    for (std::size_t position = 0; position < table.rows.size(); ++position) {
      const GroupRow& row = table.rows[position];
      if (row.contains(target)) {
        split.test.push_back(position);
      } else if (std::none_of(row.members.begin(), row.members.end(), is_related)) {
        training.push_back(position);
      }
    }
    if (split.test.empty() || training.empty()) {
      continue;
    }
    divide_training(training, split);
    splits.push_back(std::move(split));
  }
  return splits;
}

}  // namespace carpool::dataset
