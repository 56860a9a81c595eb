// Predicted speeds of the members of a GPU if one more job joins; each is predicted once a
// decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policy/group_speeds.hpp"
#include "policy/placement_state.hpp"

namespace carpool::policy {

struct ColocationForecast {
  double own = 1.0;    // progress of the new job: share of its solo speed
  double worst = 1.0;  // the least progress of any member, the new job included
  double worst_slo =
      1.0;  // the least of members with a latency target, where it cannot be predicted
  bool keeps_slo = true;  // by the latencies that can be predicted
  double kept = 1.0;      // the least ratio of a member's progress to the one it has now
  double gain = 1.0;      // sum of progress with the new job, less the sum without
};

class ColocationForecasts {
 public:
  // Both outlive it. Members are paused and resumed before the first question.
  ColocationForecasts(PlacementState& state, GroupSpeeds& speeds)
      : state_(state), speeds_(speeds), numbers_(state.slots().size(), kNotYet) {}

  [[nodiscard]] const ColocationForecast& of(const PendingJob& job, std::size_t slot);
  // How many members compute usefully: each adds `least_gain` to the sum of those before it, and
  // all keep `floor`.
  [[nodiscard]] std::size_t useful_members(std::size_t slot, double least_gain, double floor);

 private:
  static constexpr std::size_t kNever = ~std::size_t{0};
  struct Known {
    ColocationForecast forecast{};
    std::size_t members = kNever;  // of the slot when it was made
  };
  struct Now {
    std::vector<ActiveMember> group{};
    GroupProgress progress{};
    std::size_t members = kNever;
    std::size_t useful = 0;
    std::size_t useful_of = kNever;  // members of the slot when it was counted
  };

  [[nodiscard]] Now& at(std::size_t slot);
  [[nodiscard]] ColocationForecast predict(const PendingJob& job, std::size_t slot);

  PlacementState& state_;
  GroupSpeeds& speeds_;
  static constexpr std::uint32_t kNotYet = ~std::uint32_t{0};
  // Of many slots few are asked about: these are numbered in the order of the first question.
  [[nodiscard]] std::uint32_t number_of(std::size_t slot);

  std::vector<std::uint32_t> numbers_;    // by slot
  std::vector<std::vector<Known>> rows_;  // by form and number; filled on demand
  std::vector<Now> now_;                  // by number
  std::vector<ActiveMember> group_;
};

}  // namespace carpool::policy
