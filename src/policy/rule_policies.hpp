// Policies that look at memory and utilisation alone, as CARMA's do.
#pragma once

#include <memory>
#include <string_view>

#include "policy/policy_registry.hpp"

namespace carpool::policy {

enum class GpuRule {
  Exclusive,   // an empty GPU or none
  RoundRobin,  // the next by index after the one that was used last
  FirstFit,    // the first by index
  BestFit,     // the least free memory
  MostMemory,  // the most free memory: MAGM
  LeastBusy,   // the least SM activity: LUG
  MostBusy,    // the most SM activity: MUG
};

[[nodiscard]] std::unique_ptr<PlacementPolicy> make_rule_policy(std::string_view name,
                                                                GpuRule rule,
                                                                const PolicySettings& settings);

}  // namespace carpool::policy
