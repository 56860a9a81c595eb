// Predicted progress of groups during a decision; the interference model is bound to the workloads
// of the decision once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/interference_model.hpp"
#include "policy/placement_state.hpp"

namespace carpool::policy {

// Least progress of a job with a latency target.
inline constexpr double kSloFloor = 0.8;

// A group with the progress of each member: share of its solo speed.
struct GroupProgress {
  std::vector<double> shares{};
  double sum = 0.0;
  double worst = 1.0;
  double worst_slo = 1.0;  // of members with a latency target

  [[nodiscard]] bool keeps(double floor) const { return worst >= floor && worst_slo >= kSloFloor; }
};

class GroupSpeeds {
 public:
  GroupSpeeds(PlacementState& state, const InterferenceModel& model)
      : state_(state),
        bound_(model.bind(state.workloads())),
        bound_names_(state.workloads().size()) {}

  [[nodiscard]] GroupProgress of(std::span<const ActiveMember> group) {
    for (; bound_names_ < state_.workloads().size(); ++bound_names_) {
      bound_->add(state_.workloads()[bound_names_]);
    }
    workloads_.clear();
    for (const ActiveMember& member : group) {
      workloads_.push_back(member.workload);
    }
    GroupProgress made;
    made.shares.assign(group.size(), 1.0);
    if (!group.empty()) {
      bound_->progress(workloads_, made.shares);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      made.sum += made.shares[i];
      made.worst = std::min(made.worst, made.shares[i]);
      made.worst_slo = group[i].slo ? std::min(made.worst_slo, made.shares[i]) : made.worst_slo;
    }
    return made;
  }

 private:
  PlacementState& state_;
  std::unique_ptr<BoundInterference> bound_;
  std::size_t bound_names_;
  std::vector<std::uint32_t> workloads_;
};

}  // namespace carpool::policy
