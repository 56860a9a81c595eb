// The table of policies: one row each, with the declaration of its maker. A new policy is a file
// NAME_policy.cpp and what is added here. Internal to policy/.
#pragma once

#include <array>
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

// Settings by default.
[[nodiscard]] PolicySettings sharing_settings();
[[nodiscard]] PolicySettings exclusive_settings();
[[nodiscard]] PolicySettings predicting_settings();
[[nodiscard]] PolicySettings carpool_settings();
[[nodiscard]] PolicySettings carma_settings();
[[nodiscard]] PolicySettings aegis_settings();

struct PolicyRow {
  std::string_view name;
  std::string_view line;
  PolicySettings (*settings)();
  std::unique_ptr<PlacementPolicy> (*make)(std::string_view name, const PolicySettings& settings);
};

template <GpuRule kRule>
std::unique_ptr<PlacementPolicy> make_rule(std::string_view name, const PolicySettings& settings) {
  return make_rule_policy(name, kRule, settings);
}

template <std::unique_ptr<PlacementPolicy> (*kMake)(const PolicySettings&)>
std::unique_ptr<PlacementPolicy> make_own(std::string_view /*name*/,
                                          const PolicySettings& settings) {
  return kMake(settings);
}

// clang-format off: one row per policy
inline constexpr std::array kPolicies = {
    PolicyRow{"carpool", "default: shares under caps of memory, best predicted progress of all jobs, in turns",
              carpool_settings, make_own<make_carpool_policy>},
    PolicyRow{"kace", "best predicted sum of normalised speeds",
              predicting_settings, make_own<make_kace_policy>},
    PolicyRow{"exclusive", "an empty GPU only", exclusive_settings, make_rule<GpuRule::Exclusive>},
    PolicyRow{"round-robin", "GPUs in turn", sharing_settings, make_rule<GpuRule::RoundRobin>},
    PolicyRow{"first-fit", "the first GPU with enough free memory",
              sharing_settings, make_rule<GpuRule::FirstFit>},
    PolicyRow{"best-fit", "the least free memory that is enough",
              sharing_settings, make_rule<GpuRule::BestFit>},
    PolicyRow{"magm", "most available GPU memory", sharing_settings, make_rule<GpuRule::MostMemory>},
    PolicyRow{"lug", "least utilised GPU (SM activity)",
              sharing_settings, make_rule<GpuRule::LeastBusy>},
    PolicyRow{"mug", "most utilised GPU (SM activity)",
              sharing_settings, make_rule<GpuRule::MostBusy>},
    PolicyRow{"carma", "magm with CARMA's preconditions",
              carma_settings, make_rule<GpuRule::MostMemory>},
    PolicyRow{"aegis", "magm with AEGIS's preconditions",
              aegis_settings, make_rule<GpuRule::MostMemory>},
};
// clang-format on

}  // namespace carpool::policy
