#include "assign/group_values.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "assign/group_memory.hpp"

namespace carpool::assign {
namespace {

// Forecasts in one call: enough to make the call cheap, few enough to stay in the cache. The
// published models normalise by the set they are given, so small problems must stay in one call.
constexpr std::size_t kBatch = 32'768;

// Above this many kinds a triangle of all pairs (16 bytes each) would pass 32 MB.
constexpr std::size_t kMaxKindsInTriangle = 2'048;

}  // namespace

GroupValues::GroupValues(const predict::Predictor& predictor,
                         std::span<const std::size_t> profiles,
                         std::span<const double> weights,
                         const predict::Objective& objective,
                         std::optional<double> memory_gib)
    : predictor_(predictor), objective_(objective), capacity_gib_(memory_gib) {
  if (objective.kind == predict::ObjectiveKind::MaxMin) {
    objective_.kind = predict::ObjectiveKind::Normalized;
  }
  std::map<std::pair<std::size_t, double>, char32_t> known;
  kind_of_.reserve(profiles.size());
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const auto [entry, added] =
        known.try_emplace({profiles[i], weights[i]}, static_cast<char32_t>(kinds_.size()));
    if (added) {
      const Profile& profile = predictor.profiles()[profiles[i]];
      kinds_.push_back({profiles[i], weights[i], assign::memory_gib(profile).value_or(0.0)});
    }
    kind_of_.push_back(entry->second);
  }
  singles_.resize(kinds_.size());
  if (kinds_.size() <= kMaxKindsInTriangle) {
    pairs_.resize(kinds_.size() * (kinds_.size() + 1) / 2);
  }
  std::vector<Key> singles;
  singles.reserve(kinds_.size());
  for (char32_t kind = 0; kind < kinds_.size(); ++kind) {
    singles.emplace_back(1, kind);
  }
  require(singles);
}

GroupValues::Key GroupValues::key(std::span<const Member> group) const {
  Key kinds;
  for (const Member member : group) {
    kinds.push_back(kind_of_[member]);
  }
  std::ranges::sort(kinds);
  return kinds;
}

GroupValues::Key GroupValues::key(std::span<const Member> members, MemberSet chosen) const {
  Key kinds;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if ((chosen >> i & 1U) != 0) {
      kinds.push_back(kind_of_[members[i]]);
    }
  }
  std::ranges::sort(kinds);
  return kinds;
}

std::size_t GroupValues::pair_index(char32_t first, char32_t second) const {
  const auto [low, high] = std::minmax(first, second);
  return static_cast<std::size_t>(high) * (high + 1) / 2 + low;
}

bool GroupValues::fits(const Key& group) const {
  double total = 0.0;
  for (const char32_t kind : group) {
    total += kinds_[kind].memory_gib;
  }
  return !capacity_gib_ || total <= *capacity_gib_;
}

GroupValue& GroupValues::slot(const Key& group) {
  if (group.size() == 1) {
    return singles_[group[0]];
  }
  if (group.size() == 2 && !pairs_.empty()) {
    return pairs_[pair_index(group[0], group[1])];
  }
  return larger_[group];
}

void GroupValues::require(std::span<const Key> groups) {
  std::vector<Key> asked;
  for (const Key& group : groups) {
    GroupValue& value = slot(group);
    if (value.known) {
      continue;
    }
    value.known = true;  // a repetition in `groups` is not forecast again
    if (fits(group)) {
      asked.push_back(group);
    }
    if (asked.size() == kBatch) {
      forecast(asked);
      asked.clear();
    }
  }
  forecast(asked);
}

void GroupValues::require_all_pairs() {
  std::vector<Key> pairs;
  pairs.reserve(kinds_.size() * (kinds_.size() + 1) / 2);
  for (char32_t high = 0; high < kinds_.size(); ++high) {
    for (char32_t low = 0; low <= high; ++low) {
      pairs.push_back({low, high});
    }
  }
  require(pairs);
}

void GroupValues::forecast(std::span<const Key> groups) {
  if (groups.empty()) {
    return;
  }
  std::vector<Group> candidates(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    candidates[i].reserve(groups[i].size());
    for (const char32_t kind : groups[i]) {
      candidates[i].push_back({.profile = kinds_[kind].profile});
    }
  }
  asked_ += groups.size();
  const auto forecasts = predictor_.forecast(candidates, model::ForecastDetail::PointOnly);
  std::vector<double> solo_speeds;
  std::vector<double> weights;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    solo_speeds.clear();
    weights.clear();
    for (const char32_t kind : groups[i]) {
      solo_speeds.push_back(predictor_.solo_speeds()[kinds_[kind].profile]);
      weights.push_back(kinds_[kind].weight);
    }
    const predict::Score score =
        predict::score_group(objective_, forecasts[i], solo_speeds, weights);
    slot(groups[i]) = {.value = score.value,
                       .worst = static_cast<float>(score.worst_progress.value_or(1.0)),
                       .feasible = score.feasible,
                       .known = true};
  }
}

const GroupValue& GroupValues::single(Member member) const {
  return singles_[kind_of_[member]];
}

const GroupValue& GroupValues::pair(Member first, Member second) const {
  if (!pairs_.empty()) {
    return pairs_[pair_index(kind_of_[first], kind_of_[second])];
  }
  return at(key(std::array{first, second}));
}

const GroupValue& GroupValues::at(const Key& group) const {
  if (group.size() == 1) {
    return singles_[group[0]];
  }
  if (group.size() == 2 && !pairs_.empty()) {
    return pairs_[pair_index(group[0], group[1])];
  }
  return larger_.find(group)->second;
}

}  // namespace carpool::assign
