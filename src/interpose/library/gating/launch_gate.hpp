// The launch gate of one GPU in this process: which side it is on, by the environment.
#pragma once

#include <cstdint>

#include "interpose/library/gating/best_effort_side.hpp"
#include "interpose/library/requests/slo_side.hpp"

namespace carpool::interpose {

enum class GateSide : std::uint8_t { None, BestEffort, Slo };

struct LaunchGate {
  GateSide side = GateSide::None;
  BestEffortSide best_effort{};
  SloSide slo{};
};

// What the environment says. CARPOOL_SHIM_CLASS "slo" with CARPOOL_SHIM_SLO_NS, or "best-effort";
// CARPOOL_SHIM_QUANTILE, CARPOOL_SHIM_POLICY, CARPOOL_SHIM_MPS. Anything else: no gate.
void start_gate(LaunchGate& own, Client& client, std::uint32_t sms, int ordinal);

}  // namespace carpool::interpose
