// The value of each possible group of an assignment: forecast in batches, each group once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "assign/subset_search.hpp"
#include "predict/objective.hpp"
#include "predict/predictor.hpp"

namespace carpool::assign {

// A workload to assign: its position in the list. Becomes a member of a group.
using Member = std::uint32_t;

// The members of each GPU; a member in no group is left over.
using Grouping = std::vector<std::vector<Member>>;

// A threshold on GroupValue::worst that every group passes.
inline constexpr float kAnyProgress = -std::numeric_limits<float>::infinity();

struct GroupValue {
  double value = 0.0;  // what a search adds up over GPUs; for max-min the sum of progress
  float worst = 1.0F;  // smallest progress of a member; 1 where the model does not predict members
  bool feasible = false;
  bool known = false;
};

// Workloads of the same profile and weight are of one kind, and groups of the same kinds have the
// same value: a thousand workloads of thirty kinds need 465 pair forecasts, not 499,500.
class GroupValues {
 public:
  // The kinds of the members of a group, sorted. A string, because three of them need no heap.
  using Key = std::u32string;

  // Profile and weight of each workload to assign.
  GroupValues(const predict::Predictor& predictor,
              std::span<const std::size_t> profiles,
              std::span<const double> weights,
              const predict::Objective& objective,
              std::optional<double> memory_gib);

  [[nodiscard]] std::size_t workloads() const { return kind_of_.size(); }
  [[nodiscard]] std::size_t kinds() const { return kinds_.size(); }
  [[nodiscard]] double memory_gib(Member member) const {
    return kinds_[kind_of_[member]].memory_gib;
  }

  [[nodiscard]] char32_t kind(Member member) const { return kind_of_[member]; }
  [[nodiscard]] Key key(std::span<const Member> group) const;
  [[nodiscard]] Key key(std::span<const Member> members, MemberSet chosen) const;

  // Forecasts the groups that are not known yet.
  void require(std::span<const Key> groups);
  void require_all_pairs();

  // Forecasts made so far.
  [[nodiscard]] std::size_t asked() const { return asked_; }

  // require() must have been called for the group.
  [[nodiscard]] const GroupValue& at(const Key& group) const;
  [[nodiscard]] const GroupValue& single(Member member) const;
  [[nodiscard]] const GroupValue& pair(Member first, Member second) const;

 private:
  struct Kind {
    std::size_t profile = 0;
    double weight = 1.0;
    double memory_gib = 0.0;
    bool operator==(const Kind&) const = default;
  };

  [[nodiscard]] GroupValue& slot(const Key& group);
  [[nodiscard]] std::size_t pair_index(char32_t first, char32_t second) const;
  [[nodiscard]] bool fits(const Key& group) const;
  void forecast(std::span<const Key> groups);

  const predict::Predictor& predictor_;
  predict::Objective objective_;
  std::optional<double> capacity_gib_;
  std::vector<Kind> kinds_;
  std::vector<char32_t> kind_of_;
  std::vector<GroupValue> singles_;
  std::vector<GroupValue> pairs_;  // upper triangle; empty when there are too many kinds
  std::unordered_map<Key, GroupValue> larger_;
  std::size_t asked_ = 0;
};

}  // namespace carpool::assign
