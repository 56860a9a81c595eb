// The options of a latency promise: --slo, --quantile, --best-effort, --policy. The gate that keeps
// it is described in docs/gate.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool::app {

class OptionSet;

struct LatencySettings {
  std::optional<std::string> slo;  // "20ms"
  std::optional<double> quantile;
  bool best_effort = false;
  std::optional<std::string> policy;  // of the gate

  [[nodiscard]] bool given() const { return slo || best_effort; }
};
// Of a policy of the gate, as users write it: empty, or why it is none.
[[nodiscard]] std::string problem_of_gate_policy(const std::string& text);
void add_latency_settings(OptionSet& options, LatencySettings& latency);

// Milliseconds from "20ms", "0.5s" or "800us". A number without a unit is an error: 20 may be meant
// as milliseconds or as seconds.
[[nodiscard]] Result<double> parse_latency_ms(std::string_view text);

}  // namespace carpool::app
