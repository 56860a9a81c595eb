// The residents of one GPU that compute, while a decision chooses them, and their predicted
// progress.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "policy/group_speeds.hpp"
#include "policy/placement_state.hpp"

namespace carpool::policy {

class ComputingGroup {
 public:
  static constexpr std::size_t kNobody = ~std::size_t{0};

  // The speeds outlive it.
  ComputingGroup(PlacementState& state, const Slot& slot, GroupSpeeds& speeds, double floor);

  // Residents by number, from the one that has computed longest to the newest.
  [[nodiscard]] std::vector<std::size_t>& residents() { return residents_; }
  [[nodiscard]] std::size_t size() const { return residents_.size(); }

  // Without the resident at this place; foreign processes are the last member.
  [[nodiscard]] GroupProgress progress(std::size_t without = kNobody);
  // How many are below their floor in what progress(without) answered; foreign ones do not count.
  [[nodiscard]] std::size_t below_floor(const GroupProgress& progress,
                                        std::size_t without = kNobody) const;
  // Adds the resident if the sum of progress grows by this much and all members keep the floor, or
  // if no other computes.
  [[nodiscard]] bool join(std::size_t resident, double least_gain);

 private:
  GroupSpeeds& speeds_;
  double floor_;
  std::vector<ActiveMember> members_;  // by resident
  std::optional<ActiveMember> foreign_;
  std::vector<std::size_t> residents_;
  std::vector<ActiveMember> group_;
};

}  // namespace carpool::policy
