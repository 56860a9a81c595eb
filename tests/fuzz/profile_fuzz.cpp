// Any bytes as an export of Nsight Compute and as a profile: a profile of finite
// numbers that is the same when written and read again, or an error with a message.
#include <cmath>
#include <string_view>

#include "profile/ncu/ncu_csv.hpp"
#include "profile/workload_profile.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

void feed_export(std::string_view text) {
  const auto launches = profile::parse_ncu_csv(text, "a.csv");
  if (!launches) {
    require(launches.error().message.find("a.csv") != std::string::npos);
    return;
  }
  (void)profile::ncu_metrics(*launches, nullptr);
}

void feed_profile_json(std::string_view text) {
  const auto profile = profile::parse_profile(text, "a.json");
  if (!profile) {
    require(profile.error().message.find("a.json") != std::string::npos);
    return;
  }
  for (const auto& [name, value] : profile->metrics) {
    require(std::isfinite(value));
  }
  const std::string once = profile::profile_json(*profile);
  const auto again = profile::parse_profile(once, "a.json");
  require(again.has_value() && profile::profile_json(*again) == once);
}

}  // namespace

void feed_profile(std::string_view bytes) {
  feed_export(bytes);
  feed_profile_json(bytes);
}

}  // namespace carpool::fuzz
