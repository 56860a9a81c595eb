#include "serve/metrics/job_gate.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace carpool::serve {

using nlohmann::json;

std::optional<double> JobGate::attainment() const {
  if (requests == 0) {
    return std::nullopt;
  }
  return 1.0 - static_cast<double>(late_requests) / static_cast<double>(requests);
}

json gate_view(const JobGate& gate) {
  json view = {{"holds", json::array()}};
  if (!gate.policy.empty()) {
    view["policy"] = gate.policy;
  }
  if (gate.slo_ms) {
    view["slo_ms"] = *gate.slo_ms;
    view["quantile"] = gate.quantile;
    view["requests"] = gate.requests;
    view["late_requests"] = gate.late_requests;
  }
  for (const auto& [key, value] : {std::pair("attainment", gate.attainment()),
                                   std::pair("p50_ms", gate.p50_ms),
                                   std::pair("tail_ms", gate.tail_ms)}) {
    if (value && gate.slo_ms) {
      view[key] = *value;
    }
  }
  std::uint64_t launches = 0;
  double seconds = 0.0;
  for (const JobGate::Hold& hold : gate.holds) {
    launches += hold.launches;
    seconds += hold.seconds;
    view["holds"].push_back({{"reason", hold.reason},
                             {"text", hold.words},
                             {"launches", hold.launches},
                             {"held_s", hold.seconds}});
  }
  view["held_launches"] = launches;
  view["held_s"] = seconds;
  return view;
}

}  // namespace carpool::serve
