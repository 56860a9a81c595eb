#include "interpose/library/gating/launch_gate.hpp"

#include "interpose/library/settings.hpp"

namespace carpool::interpose {

namespace {

constexpr std::uint64_t kMillion = 1'000'000;
constexpr std::uint64_t kUsualQuantile = 990'000;

// "0.99" in millionths; what is not a number between 0 and 1 is the usual one.
std::uint64_t quantile_of(std::string_view text) {
  while (text.starts_with('0')) {
    text.remove_prefix(1);
  }
  if (!text.starts_with('.')) {
    return kUsualQuantile;
  }
  text.remove_prefix(1);
  std::uint64_t millionths = 0;
  std::uint64_t worth = kMillion;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') {
      return kUsualQuantile;
    }
    worth /= 10;
    millionths += worth * static_cast<std::uint64_t>(digit - '0');
  }
  return millionths == 0 ? kUsualQuantile : millionths;
}

}  // namespace

void start_gate(LaunchGate& own, Client& client, std::uint32_t sms, int ordinal) {
  const std::string_view job_class = setting("CARPOOL_SHIM_CLASS");
  const std::uint64_t slo_ns = number_setting("CARPOOL_SHIM_SLO_NS", 0);
  const bool mps = setting("CARPOOL_SHIM_MPS") == "1";
  if (job_class == "slo" && slo_ns != 0) {
    own.slo.start(client,
                  {.slo_ns = slo_ns,
                   .quantile_millionths = quantile_of(setting("CARPOOL_SHIM_QUANTILE")),
                   .in_mps = mps});
    own.side = GateSide::Slo;
  } else if (job_class == "best-effort") {
    gate::PolicyChoice choice = gate::choose_policy(setting("CARPOOL_SHIM_POLICY"));
    // A policy that needs MPS would hold nothing back without it.
    if (choice.policy == nullptr || (choice.policy->needs_mps && !mps)) {
      choice = {.policy = gate::policies().data()};
    }
    own.best_effort.start(client, choice, {.sms = sms, .mps = mps}, ordinal);
    own.side = GateSide::BestEffort;
  }
}

}  // namespace carpool::interpose
