#include "policy/policy_registry.hpp"

#include <array>

#include "base/text/memory_size.hpp"
#include "base/text/names.hpp"
#include "policy/policy_table.hpp"

namespace carpool::policy {
namespace {

// CARMA subtracts this from the free memory first.
constexpr std::uint64_t kCarmaMargin = 512 * kMiB;

constexpr auto kInfos = [] {
  std::array<PolicyInfo, kPolicies.size()> infos{};
  for (std::size_t i = 0; i < kPolicies.size(); ++i) {
    infos[i] = {.name = kPolicies[i].name, .line = kPolicies[i].line};
  }
  return infos;
}();

}  // namespace

PolicySettings sharing_settings() {
  return {.memory_margin_bytes = kCarmaMargin};
}

PolicySettings exclusive_settings() {
  PolicySettings settings;
  settings.max_per_gpu = 1;
  settings.use_mps = false;
  return settings;
}

// As in CARMA's code: a strict queue, empty GPUs first, one new job per GPU until 30 s after the
// last one was seen on it, no reservations.
PolicySettings carma_settings() {
  PolicySettings settings;
  settings.sm_active_limit = 0.80;
  settings.sm_occupancy_limit = 0.45;
  settings.dram_active_limit = 0.40;
  settings.memory_floor_bytes = 5120 * kMiB + kCarmaMargin;
  settings.memory_margin_bytes = 2048 * kMiB + kCarmaMargin;
  settings.settle_s = 30.0;
  settings.max_per_gpu = 48;
  settings.backfill = false;
  settings.empty_first = true;
  settings.reserve = false;
  settings.share_several = true;
  return settings;
}

PolicySettings aegis_settings() {
  PolicySettings settings = carma_settings();
  settings.sm_active_limit = 0.65;
  settings.sm_occupancy_limit = 0.35;
  settings.dram_active_limit = 0.50;
  return settings;
}

PolicySettings predicting_settings() {
  PolicySettings settings = sharing_settings();
  settings.max_per_gpu = 8;  // of light jobs; predictions keep others away
  return settings;
}

PolicySettings carpool_settings() {
  PolicySettings settings = sharing_settings();
  settings.max_per_gpu = kMostMpsClients;  // predictions and memory limit the groups
  settings.use_caps = true;
  settings.reserve_unknown = false;  // patience of the scheduler bounds the wait
  settings.floor = 0.2;
  settings.least_gain = 0.10;
  settings.take_turns = true;
  settings.refused_turn_s = 1800.0;
  return settings;
}

std::span<const PolicyInfo> placement_policies() {
  return kInfos;
}

PolicySettings default_settings(std::string_view policy) {
  for (const PolicyRow& known : kPolicies) {
    if (known.name == policy) {
      return known.settings();
    }
  }
  return {};
}

Result<std::unique_ptr<PlacementPolicy>> make_placement_policy(std::string_view name,
                                                               const PolicySettings& settings) {
  const auto found = find_named(std::span<const PolicyRow>(kPolicies), "policy", name);
  if (!found) {
    return tl::unexpected(found.error());
  }
  return (*found)->make((*found)->name, settings);
}

}  // namespace carpool::policy
