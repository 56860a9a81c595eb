// The GPUs that a job may join, in the order in which they are evaluated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/interference_model.hpp"
#include "policy/placement_state.hpp"

namespace carpool::policy {

class LikelyGpus {
 public:
  // All outlive it.
  LikelyGpus(PlacementState& state, const PolicySettings& settings, const InterferenceModel& model)
      : state_(state), settings_(settings), model_(model) {}

  // Numbers of slots. Of few GPUs all that are open; of many, those that run something and have
  // room for some job of the queue, the least busy ones first: by the sum of the SM activity that
  // their members have solo. The order is that of the first call.
  [[nodiscard]] const std::vector<std::size_t>& gpus();

 private:
  void least_busy_first();
  [[nodiscard]] bool fits_some(const Slot& slot) const;
  [[nodiscard]] double activity(const Slot& slot);
  [[nodiscard]] double activity(std::uint32_t workload);

  PlacementState& state_;
  const PolicySettings& settings_;
  const InterferenceModel& model_;
  std::vector<std::size_t> gpus_;
  bool ordered_ = false;                                // gpus_ is filled
  std::uint64_t least_need_bytes_ = ~std::uint64_t{0};  // of the jobs whose need is known
  bool some_unknown_ = false;
  std::vector<double> activities_;  // by workload
};

}  // namespace carpool::policy
