// What the launch gate did to a job, or for it (docs/gate.md), as the processes of the job report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/job.hpp"

namespace carpool::serve {

struct JobGate {
  JobId job = 0;
  std::string policy{};            // of a best-effort job; empty: it does not ask the gate
  std::optional<double> slo_ms{};  // of a job with an SLO
  double quantile = 0.0;
  std::uint64_t requests = 0;  // that have ended
  std::uint64_t late_requests = 0;
  std::optional<double> p50_ms{};   // of the last requests of its slowest process
  std::optional<double> tail_ms{};  // their quantile
  struct Hold {
    std::string reason{};  // "request-active"
    std::string words{};
    std::uint64_t launches = 0;
    double seconds = 0.0;
  };
  std::vector<Hold> holds{};  // launches that waited; the longest in all first

  // Share of the requests that kept the SLO; empty: there was none.
  [[nodiscard]] std::optional<double> attainment() const;
};

[[nodiscard]] nlohmann::json gate_view(const JobGate& gate);

}  // namespace carpool::serve
