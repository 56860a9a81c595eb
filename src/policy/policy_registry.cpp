#include "policy/policy_registry.hpp"

#include <array>

#include "base/text/names.hpp"
#include "policy/policy_makers.hpp"

namespace carpool::policy {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
// CARMA subtracts this from the free memory first.
constexpr std::uint64_t kCarmaMargin = 512 * kMiB;

using Make = std::unique_ptr<PlacementPolicy> (*)(std::string_view name, const PolicySettings&);
using Settings = PolicySettings (*)();

template <GpuRule kRule>
std::unique_ptr<PlacementPolicy> make_rule(std::string_view name, const PolicySettings& settings) {
  return make_rule_policy(name, kRule, settings);
}

template <std::unique_ptr<PlacementPolicy> (*kMake)(const PolicySettings&)>
std::unique_ptr<PlacementPolicy> make_own(std::string_view /*name*/,
                                          const PolicySettings& settings) {
  return kMake(settings);
}

PolicySettings plain() {
  return {.memory_margin_bytes = kCarmaMargin};
}

PolicySettings alone() {
  PolicySettings settings;
  settings.max_per_gpu = 1;
  settings.use_mps = false;
  return settings;
}

// As in CARMA's code: a strict queue, empty GPUs first, one new job per GPU until 30 s after the
// last one was seen on it, no reservations.
PolicySettings carma() {
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

PolicySettings aegis() {
  PolicySettings settings = carma();
  settings.sm_active_limit = 0.65;
  settings.sm_occupancy_limit = 0.35;
  settings.dram_active_limit = 0.50;
  return settings;
}

PolicySettings predicting() {
  PolicySettings settings = plain();
  settings.max_per_gpu = 8;  // of light jobs; predictions keep others away
  return settings;
}

struct Entry {
  std::string_view name;
  PolicyInfo info;
  Settings settings;
  Make make;
};

constexpr Entry entry(std::string_view name, std::string_view line, Settings settings, Make make) {
  return {.name = name, .info = {.name = name, .line = line}, .settings = settings, .make = make};
}

constexpr std::array kPolicies = {
    entry("carpool",
          "default: fits by upper bound and reservation, best predicted progress of all jobs",
          predicting,
          make_own<make_carpool_policy>),
    entry(
        "kace", "best predicted sum of normalised speeds", predicting, make_own<make_kace_policy>),
    entry("exclusive", "an empty GPU only", alone, make_rule<GpuRule::Exclusive>),
    entry("round-robin", "GPUs in turn", plain, make_rule<GpuRule::RoundRobin>),
    entry(
        "first-fit", "the first GPU with enough free memory", plain, make_rule<GpuRule::FirstFit>),
    entry("best-fit", "the least free memory that is enough", plain, make_rule<GpuRule::BestFit>),
    entry("magm", "most available GPU memory", plain, make_rule<GpuRule::MostMemory>),
    entry("lug", "least utilised GPU (SM activity)", plain, make_rule<GpuRule::LeastBusy>),
    entry("mug", "most utilised GPU (SM activity)", plain, make_rule<GpuRule::MostBusy>),
    entry("carma", "magm with CARMA's preconditions", carma, make_rule<GpuRule::MostMemory>),
    entry("aegis", "magm with AEGIS's preconditions", aegis, make_rule<GpuRule::MostMemory>),
};

constexpr auto kInfos = [] {
  std::array<PolicyInfo, kPolicies.size()> infos{};
  for (std::size_t i = 0; i < kPolicies.size(); ++i) {
    infos[i] = kPolicies[i].info;
  }
  return infos;
}();

}  // namespace

std::span<const PolicyInfo> placement_policies() {
  return kInfos;
}

PolicySettings default_settings(std::string_view policy) {
  for (const Entry& known : kPolicies) {
    if (known.name == policy) {
      return known.settings();
    }
  }
  return {};
}

Result<std::unique_ptr<PlacementPolicy>> make_placement_policy(std::string_view name,
                                                               const PolicySettings& settings) {
  const auto found = find_named(std::span<const Entry>(kPolicies), "policy", name);
  if (!found) {
    return tl::unexpected(found.error());
  }
  return (*found)->make((*found)->name, settings);
}

}  // namespace carpool::policy
