#include "core/latency.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

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

bool waits_for_requests(const JobSpec& spec) {
  constexpr std::array<std::string_view, 3> kTurns = {"", "spacetime", "time"};
  const Environment::Map& env = spec.env;
  const auto policy = env.find(kGatePolicyVariable);
  return spec.job_class == JobClass::BestEffort && accepts_shim(env) &&
         (policy == env.end() || std::ranges::find(kTurns, policy->second) != kTurns.end());
}

}  // namespace carpool
