#include "core/latency.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

namespace carpool {
namespace {

// File names of libraries that take the place of the driver: a driver of another kind, HAMi,
// nvshare, XSched, Tally.
constexpr std::array<std::string_view, 6> kOtherShims = {
    "libcuda.so", "libvgpu", "libnvshare", "libshimcuda", "libhalcuda", "libtally"};

bool preloads_another(std::string_view preload) {
  constexpr std::string_view kSeparators = ": ";
  while (!preload.empty()) {
    const std::size_t end = std::min(preload.find_first_of(kSeparators), preload.size());
    const std::string_view entry = preload.substr(0, end);
    const std::string_view name = entry.substr(entry.rfind('/') + 1);
    if (std::ranges::any_of(kOtherShims,
                            [&](std::string_view other) { return name.starts_with(other); })) {
      return true;
    }
    preload.remove_prefix(std::min(end + 1, preload.size()));
  }
  return false;
}

// "hami", or with a limit in percent, "hami:50". One with a limit that is none is an unknown
// policy.
bool is_hami(std::string_view policy) {
  constexpr std::string_view kName = "hami";
  constexpr std::size_t kMostDigits = 3;
  constexpr unsigned kWhole = 100;
  if (!policy.starts_with(kName) || policy.size() == kName.size()) {
    return policy == kName;
  }
  const std::string_view limit = policy.substr(kName.size() + 1);
  unsigned percent = 0;
  const auto [end, problem] = std::from_chars(limit.begin(), limit.end(), percent);
  return policy[kName.size()] == ':' && problem == std::errc() && end == limit.end() &&
         limit.size() <= kMostDigits && percent >= 1 && percent <= kWhole;
}

}  // namespace

bool can_be_promised(double quantile) {
  constexpr double kLeast = 0.6;
  constexpr double kMost = 0.999;
  constexpr double kRounding = 1e-9;
  const double thousandths = quantile * 1000.0;
  return quantile >= kLeast - kRounding && quantile <= kMost + kRounding &&
         std::abs(thousandths - std::round(thousandths)) < 1e-6;
}

LatencyGoal latency_goal(const JobSpec& spec) {
  return spec.job_class == JobClass::Slo
             ? LatencyGoal{.slo_ms = spec.slo_ms.value_or(0.0),
                           .quantile = spec.quantile.value_or(kUsualQuantile)}
             : LatencyGoal{};
}

bool accepts_shim(const Environment::Map& env) {
  const auto wanted = env.find("CARPOOL_SHIM");
  const auto preload = env.find("LD_PRELOAD");
  return (wanted == env.end() || wanted->second != "off") &&
         (preload == env.end() || !preloads_another(preload->second));
}

Gating gating_of(const JobSpec& spec) {
  const Environment::Map& env = spec.env;
  if (spec.job_class != JobClass::BestEffort || !accepts_shim(env)) {
    return Gating::None;
  }
  const auto set = env.find(kGatePolicyVariable);
  const std::string_view policy = set == env.end() ? std::string_view() : set->second;
  if (policy == "tgs" || is_hami(policy)) {
    return Gating::None;
  }
  return policy == "priority" || policy == "orion" ? Gating::OutsideOfMps : Gating::All;
}

}  // namespace carpool
