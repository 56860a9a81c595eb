// Predicted speeds of the members of a GPU if one more job joins; each is predicted once a
// decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/interference_model.hpp"
#include "policy/placement_state.hpp"

namespace carpool::policy {

struct ColocationForecast {
  double own = 1.0;        // progress of the new job: share of its solo speed
  double worst = 1.0;      // the least progress of any member, the new job included
  double worst_slo = 1.0;  // the least of present members with a latency target
  double kept = 1.0;       // the least ratio of a member's progress to the one it has now
  double gain = 1.0;       // sum of progress with the new job, less the sum without
};

class ColocationForecasts {
 public:
  ColocationForecasts(PlacementState& state, const InterferenceModel& model);

  [[nodiscard]] const ColocationForecast& of(std::uint32_t workload, std::size_t slot);
  // Progress of each present member, in the order of PlacementState::group.
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
  std::vector<std::vector<Known>> rows_;  // by workload and slot; filled on demand
  std::vector<Now> now_;
  std::vector<std::uint32_t> group_;
  std::vector<double> shares_;
};

}  // namespace carpool::policy
