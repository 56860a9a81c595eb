// What would become of a GPU's members if one more came: predictions, each made once a decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/interference_model.hpp"
#include "policy/placement_state.hpp"

namespace carpool::policy {

struct ColocationForecast {
  double own = 1.0;        // the newcomer's share of its speed alone
  double worst = 1.0;      // the least share of any member, itself included
  double worst_slo = 1.0;  // of members with a latency target who are there already
  double kept = 1.0;       // the least that any member keeps of the share that it has now
  double gain = 1.0;       // sum of shares with it, less the sum without it
};

class ColocationForecasts {
 public:
  ColocationForecasts(PlacementState& state, const InterferenceModel& model);

  [[nodiscard]] const ColocationForecast& of(std::uint32_t workload, std::size_t slot);
  // Share of each member as things stand, in the order of PlacementState::group.
  [[nodiscard]] const std::vector<double>& shares_at(std::size_t slot);

 private:
  static constexpr std::size_t kNever = ~std::size_t{0};
  struct Known {
    ColocationForecast forecast{};
    std::size_t members = kNever;  // of the slot when it was made
  };
  struct Now {
    std::vector<std::uint32_t> group{};
    std::vector<double> shares{};
    std::size_t members = kNever;
  };

  [[nodiscard]] const Now& at(std::size_t slot);

  [[nodiscard]] ColocationForecast predict(std::uint32_t workload, std::size_t slot);

  PlacementState& state_;
  std::unique_ptr<BoundInterference> bound_;
  std::size_t bound_names_ = 0;
  std::vector<std::vector<Known>> rows_;  // by workload and slot; filled when asked for
  std::vector<Now> now_;
  std::vector<std::uint32_t> group_;
  std::vector<double> shares_;
};

}  // namespace carpool::policy
