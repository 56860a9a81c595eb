// Policies that ask how fast everybody would run.
#pragma once

#include <memory>

#include "policy/policy_registry.hpp"

namespace carpool::policy {

// The best predicted sum of normalised speeds, as KACE chooses; memory is looked at, floors are
// not.
[[nodiscard]] std::unique_ptr<PlacementPolicy> make_kace_policy(const PolicySettings& settings);

// Ours (docs/placement.md).
[[nodiscard]] std::unique_ptr<PlacementPolicy> make_carpool_policy(const PolicySettings& settings);

}  // namespace carpool::policy
