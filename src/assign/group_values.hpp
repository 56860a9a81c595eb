// What each possible group of an assignment is worth; asked of the model in batches, kept for good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "assign/subset_search.hpp"
#include "predict/objective.hpp"
#include "predict/predictor.hpp"

namespace carpool::assign {

// Places in the list of workloads to assign.
using Item = std::uint32_t;

// Who shares a GPU with whom; an item in no group is left over.
using Grouping = std::vector<std::vector<Item>>;

struct GroupValue {
  double value = 0.0;  // what a search adds up over GPUs; for max-min the sum of progress
  float worst = 1.0F;  // smallest progress of a member; 1 where the model does not tell
  bool feasible = false;
  bool known = false;
};

// Workloads of the same profile and weight are of one kind, and groups of the same kinds are worth
// the same: a thousand workloads of thirty kinds need 465 pair forecasts, not 499,500.
class GroupValues {
 public:
  // The kinds of a group's members, sorted. A string because three of them need no heap.
  using Key = std::u32string;

  // Profile and weight of each workload to assign.
  GroupValues(const predict::Predictor& predictor,
              std::span<const std::size_t> profiles,
              std::span<const double> weights,
              const predict::Objective& objective,
              std::optional<double> memory_gib);

  [[nodiscard]] std::size_t items() const { return kind_of_.size(); }
  [[nodiscard]] std::size_t kinds() const { return kinds_.size(); }
  [[nodiscard]] double memory_gib(Item item) const { return kinds_[kind_of_[item]].memory_gib; }

  [[nodiscard]] char32_t kind(Item item) const { return kind_of_[item]; }
  [[nodiscard]] Key key(std::span<const Item> group) const;
  [[nodiscard]] Key key(std::span<const Item> items, ItemSet chosen) const;

  // Forecasts those of the groups that are not known yet.
  void require(std::span<const Key> groups);
  void require_all_pairs();

  // Forecasts asked for so far.
  [[nodiscard]] std::size_t asked() const { return asked_; }

  // The group must have been required.
  [[nodiscard]] const GroupValue& at(const Key& group) const;
  [[nodiscard]] const GroupValue& single(Item item) const;
  [[nodiscard]] const GroupValue& pair(Item first, Item second) const;

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
