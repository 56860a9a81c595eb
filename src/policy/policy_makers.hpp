// The makers behind the table of policy_registry.cpp.
#pragma once

#include <memory>
#include <string_view>

#include "policy/policy_registry.hpp"

namespace carpool::policy {

enum class GpuRule {
  Exclusive,   // an empty GPU only
  RoundRobin,  // the next by index after the one that was used last
  FirstFit,    // the first by index
  BestFit,     // the least free memory
  MostMemory,  // the most free memory: MAGM
  LeastBusy,   // the least SM activity: LUG
  MostBusy,    // the most SM activity: MUG
};

// Policies that look at memory and utilisation only, as CARMA's do.
[[nodiscard]] std::unique_ptr<PlacementPolicy> make_rule_policy(std::string_view name,
                                                                GpuRule rule,
                                                                const PolicySettings& settings);

// The best predicted sum of normalised speeds, as KACE chooses; respects memory, and no floor.
[[nodiscard]] std::unique_ptr<PlacementPolicy> make_kace_policy(const PolicySettings& settings);

// Carpool's own (docs/placement.md).
[[nodiscard]] std::unique_ptr<PlacementPolicy> make_carpool_policy(const PolicySettings& settings);

}  // namespace carpool::policy
