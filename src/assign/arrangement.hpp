// Who sits where during a local search, and what that is worth.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "assign/group_values.hpp"

namespace carpool::assign {

// The worth of a group that is not allowed.
inline constexpr double kForbidden = -std::numeric_limits<double>::infinity();

// Places are the GPUs and, behind them, one place outside for each item that found none, so that
// items outside take part in moves and swaps like all others.
class Seating {
 public:
  using Key = GroupValues::Key;

  struct Rules {
    std::size_t gpus = 1;
    std::size_t max_per_gpu = 2;
    bool bottleneck = false;  // the smallest progress counts instead of the sum of values
    float above = -1.0F;      // groups whose smallest progress is not above this are not allowed
  };

  Seating(GroupValues& values, const Rules& rules)
      : values_(&values), rules_(rules), places_(rules.gpus), place_of_(values.items(), kNowhere) {}

  [[nodiscard]] std::size_t gpus() const { return rules_.gpus; }
  [[nodiscard]] std::size_t places() const { return places_.size(); }
  [[nodiscard]] bool on_gpu(std::size_t where) const { return where < rules_.gpus; }
  [[nodiscard]] bool has_room(std::size_t where) const {
    return on_gpu(where) && places_[where].size() < rules_.max_per_gpu;
  }
  [[nodiscard]] std::span<const Item> members(std::size_t where) const { return places_[where]; }
  [[nodiscard]] std::size_t place_of(Item item) const { return place_of_[item]; }
  [[nodiscard]] Grouping groups() const;

  void put(Item item, std::size_t where);
  void take(Item item);
  void put_outside(Item item);
  [[nodiscard]] std::size_t outside() const;  // items on no GPU

  void clear(std::size_t gpu);  // its members go outside
  // Clears the GPU with the smallest progress of all and from now on allows only groups above
  // that. False: nobody shares a GPU.
  [[nodiscard]] bool clear_worst();

  // The kinds on a place without one item and with another.
  [[nodiscard]] Key key_after(std::size_t where,
                              std::optional<Item> without,
                              std::optional<Item> with) const;

  // What a group of these kinds adds to the sum that is maximised; kForbidden when it is not
  // allowed. It must have been required of the values.
  [[nodiscard]] double worth(std::size_t where, const Key& key) const;
  [[nodiscard]] double worth_now(std::size_t where) const {
    return worth(where, key_after(where, std::nullopt, std::nullopt));
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  GroupValues* values_;
  Rules rules_;
  std::vector<std::vector<Item>> places_;
  std::vector<std::size_t> place_of_;
};

}  // namespace carpool::assign
