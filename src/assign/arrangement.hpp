// Which member is on which GPU during a local search, and what that is worth.
#pragma once

#include <cmath>
#include <compare>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "assign/group_values.hpp"

namespace carpool::assign {

// The worth of a group that is not allowed.
inline constexpr double kForbidden = -std::numeric_limits<double>::infinity();

// Places are the GPUs and, after them, one place outside for each member without a GPU, so that
// members outside take part in moves and swaps like all others.
class Arrangement {
 public:
  using Key = GroupValues::Key;

  struct Rules {
    std::size_t gpus = 1;
    std::size_t max_per_gpu = 2;
    bool bottleneck = false;  // the smallest progress counts instead of the sum of values
    float above = -1.0F;      // only groups with a smallest progress above this are allowed
  };

  Arrangement(GroupValues& values, const Rules& rules)
      : values_(&values),
        rules_(rules),
        places_(rules.gpus),
        place_of_(values.workloads(), kNowhere) {}

  [[nodiscard]] std::size_t gpus() const { return rules_.gpus; }
  [[nodiscard]] std::size_t places() const { return places_.size(); }
  [[nodiscard]] bool on_gpu(std::size_t where) const { return where < rules_.gpus; }
  [[nodiscard]] bool has_room(std::size_t where) const {
    return on_gpu(where) && places_[where].size() < rules_.max_per_gpu;
  }
  [[nodiscard]] std::span<const Member> members(std::size_t where) const { return places_[where]; }
  [[nodiscard]] std::size_t place_of(Member member) const { return place_of_[member]; }
  [[nodiscard]] Grouping groups() const;

  void put(Member member, std::size_t where);
  void take(Member member);
  void put_outside(Member member);
  [[nodiscard]] std::size_t outside() const;  // members on no GPU

  void clear(std::size_t gpu);  // its members go outside
  // Clears the GPU with the smallest progress and from now on allows only groups above that
  // progress. False: no two members share a GPU.
  [[nodiscard]] bool clear_worst();

  // The kinds on a place after one member has left and another has arrived.
  [[nodiscard]] Key key_after(std::size_t where,
                              std::optional<Member> without,
                              std::optional<Member> with) const;

  // What a group of these kinds adds to the sum that is maximised; kForbidden when it is not
  // allowed. GroupValues::require() must have been called for it.
  [[nodiscard]] double worth(std::size_t where, const Key& key) const;
  [[nodiscard]] double worth_now(std::size_t where) const {
    return worth(where, key_after(where, std::nullopt, std::nullopt));
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  GroupValues* values_;
  Rules rules_;
  std::vector<std::vector<Member>> places_;
  std::vector<std::size_t> place_of_;
};

// What a change of the arrangement brings: more members placed count before worth.
struct ArrangementGain {
  int placed = 0;
  double worth = 0.0;

  [[nodiscard]] auto operator<=>(const ArrangementGain&) const = default;

  // Whether the gain exceeds the rounding error of a sum near `worth_before`.
  [[nodiscard]] bool helps(double worth_before) const {
    constexpr double kRounding = 1e-12;
    return placed > 0 || (placed == 0 && worth > kRounding * (1.0 + std::abs(worth_before)));
  }
};

}  // namespace carpool::assign
