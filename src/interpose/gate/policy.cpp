#include "interpose/gate/policy.hpp"

#include "interpose/gate/policies/policies.hpp"

namespace carpool::interpose::gate {
namespace {

constexpr std::array<Policy, 10> kPolicies{{
    {.name = "spacetime",
     .summary =
         "default: turns in time, or beside requests on part of the SMs where the SLO leaves "
         "room",
     .minimum_share = true,
     .decide = decide_spacetime},
    {.name = "time",
     .summary = "best-effort work only while no request is active",
     .minimum_share = true,
     .decide = decide_time},
    {.name = "priority",
     .summary = "everything is launched, best-effort work at the lowest priority",
     .needs_mps = true,
     .decide = decide_priority},
    {.name = "orion",
     .summary = "kernels with another bottleneck beside the SLO job's, within free SMs",
     .needs_mps = true,
     .decide = decide_orion},
    {.name = "reef-n",
     .summary = "at most 2 best-effort commands in flight, none while the SLO job has work",
     .decide = decide_reef_n},
    {.name = "tgs",
     .summary = "limits the rate of best-effort blocks so that the SLO job's rate stays",
     .decide = decide_tgs,
     .observe = observe_tgs},
    {.name = "xsched-lv1",
     .summary = "at most 16 best-effort commands in flight, none while the SLO job has work",
     .decide = decide_xsched_lv1},
    {.name = "hami",
     .summary = "a bucket of tokens for each client, refilled by its measured use: hami:50 for "
                "half of the GPU",
     .takes_limit = true,
     .decide = decide_hami,
     .observe = observe_hami},
    {.name = "antman",
     .summary = "best-effort work in the idle slots between requests",
     .decide = decide_antman},
    {.name = "salus",
     .summary = "one client's iteration at a time, the SLO job next",
     .decide = decide_salus,
     .observe = observe_salus},
}};

// A whole number from 1 to 100; 0: it is none.
std::uint32_t percent_of(std::string_view text) {
  constexpr std::size_t kMostDigits = 3;
  constexpr std::uint32_t kWhole = 100;
  std::uint32_t percent = 0;
  if (text.size() > kMostDigits) {
    return 0;
  }
  for (const char digit : text) {
    if (digit < '0' || digit > '9') {
      return 0;
    }
    percent = percent * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  return percent <= kWhole ? percent : 0;
}

}  // namespace

std::span<const Policy> policies() {
  return kPolicies;
}

const Policy* find_policy(std::string_view name) {
  for (const Policy& policy : kPolicies) {
    if (policy.name == name) {
      return &policy;
    }
  }
  return nullptr;
}

PolicyChoice choose_policy(std::string_view text) {
  std::string_view name = text;
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    name.remove_suffix(text.size() - colon);
  }
  const Policy* const policy = find_policy(name);
  if (policy == nullptr || name.size() == text.size()) {
    return {.policy = policy};
  }
  text.remove_prefix(name.size() + 1);
  const std::uint32_t percent = policy->takes_limit ? percent_of(text) : 0;
  return percent == 0 ? PolicyChoice{}
                      : PolicyChoice{.policy = policy, .limit_permille = percent * 10};
}

}  // namespace carpool::interpose::gate
