// Predicted progress and latencies of groups during a decision; the interference model is bound to
// the workloads of the decision once.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/interference_model.hpp"
#include "policy/placement_state.hpp"

namespace carpool::policy {

// Least progress of a job with a latency target whose latency cannot be predicted.
inline constexpr double kSloFloor = 0.8;

// What becomes of a member's latency target.
enum class Promise {
  None,      // it has none
  Unknown,   // its latency cannot be predicted
  Kept,      // the 90 % interval of its latency is below
  Doubtful,  // the interval ends above
  Broken,    // the predicted latency itself is above
};

// A group with the progress of each member: share of its solo speed.
struct GroupProgress {
  std::vector<double> shares{};
  std::vector<Promise> promises{};  // empty: no member has a latency target
  double sum = 0.0;
  double worst = 1.0;
  double worst_slo = 1.0;  // of members whose promise is unknown

  [[nodiscard]] bool keeps_slo() const;
  [[nodiscard]] std::size_t broken() const;  // promises
  [[nodiscard]] bool keeps(double floor) const {
    return worst >= floor && worst_slo >= kSloFloor && keeps_slo();
  }
  // Whether a member is worse off than the policy wants.
  [[nodiscard]] bool below(std::size_t member, double floor) const;
};

// The latency of a member with a target, as far as it can be predicted.
struct PromisedLatency {
  JobId job = 0;
  LatencyGoal goal{};
  LatencyForecast forecast{};

  [[nodiscard]] bool kept() const { return forecast.tail90.high <= goal.slo_ms; }
};

class GroupSpeeds {
 public:
  // Both outlive it.
  GroupSpeeds(PlacementState& state, const InterferenceModel& model);

  [[nodiscard]] GroupProgress of(std::span<const ActiveMember> group);
  // Of the members with a target; the one that is nearest to its target, or farthest above, first.
  [[nodiscard]] std::vector<PromisedLatency> latencies(std::span<const ActiveMember> group) const;

 private:
  [[nodiscard]] std::optional<LatencyForecast> latency(std::span<const ActiveMember> group,
                                                       std::size_t member) const;
  void add_promises(std::span<const ActiveMember> group, GroupProgress& made) const;

  PlacementState& state_;
  const InterferenceModel& model_;
  std::unique_ptr<BoundInterference> bound_;
  std::size_t bound_names_;
  std::vector<std::uint32_t> workloads_;
};

}  // namespace carpool::policy
