// Latency of the requests of jobs with an SLO: what is promised, measured and predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/environment.hpp"
#include "core/forecast.hpp"
#include "core/job.hpp"

namespace carpool {

inline constexpr double kUsualQuantile = 0.99;
inline constexpr double kLeastSloMs = 0.001;  // a microsecond
inline constexpr double kMostSloMs = 3600.0 * 1000.0;

// A quantile that can be promised is one of the tail, 0.6 or more, and is measured in thousandths:
// to 0.999, as the figures of a process go back over about 1,000 requests.
[[nodiscard]] bool can_be_promised(double quantile);

// What a job of class slo keeps.
struct LatencyGoal {
  double slo_ms = 0.0;               // 0: it states none
  double quantile = kUsualQuantile;  // share of the requests that keep it
  auto operator<=>(const LatencyGoal&) const = default;
};

[[nodiscard]] LatencyGoal latency_goal(const JobSpec& spec);

// Environment variable with the gate policy of a best-effort job (docs/gate.md).
inline constexpr const char* kGatePolicyVariable = "CARPOOL_SHIM_POLICY";

// Whether a program with this environment may run with the library in front of the driver: not if
// it says CARPOOL_SHIM=off, nor if it preloads another library that takes the place of the driver.
[[nodiscard]] bool accepts_shim(const Environment::Map& env);

// Beside which jobs with an SLO the launches of a job wait while a request is active.
enum class Gating {
  None,  // it is not best-effort, keeps the library out, or its policy limits a rate (tgs, hami)
  OutsideOfMps,  // there its policy (priority, orion) is replaced by one that holds launches
  All,           // by all other policies: unknown ones are replaced, too
};
[[nodiscard]] Gating gating_of(const JobSpec& spec);
// `slo_in_mps`: the job with the SLO is a client of MPS.
[[nodiscard]] constexpr bool waits_for_requests(Gating gating, bool slo_in_mps) {
  return gating == Gating::All || (gating == Gating::OutsideOfMps && !slo_in_mps);
}

// As the processes of a job report it.
struct MeasuredLatency {
  double quantile = kUsualQuantile;
  std::uint64_t requests = 0;  // so far, of all its processes
  unsigned processes = 1;      // that serve requests now
  // So far, of the process that has served fewest: how much of the figures below is old.
  std::uint64_t fewest = 0;
  double p50_ms = 0.0;   // of the last requests of its slowest process
  double tail_ms = 0.0;  // their quantile
  // Of the last requests, without their time in a queue: mean, and mean of the square.
  double service_ms = 0.0;  // 0: not known
  double service_square_ms2 = 0.0;
};

// A job that computes beside one with an SLO.
struct LatencyNeighbour {
  std::string workload{};
  bool gated = false;  // its launches wait for requests, where there is a gate
};

// A job with an SLO, alone or in a group.
struct LatencyQuestion {
  std::string workload{};
  LatencyGoal goal{};
  bool mps = false;  // kernels of several processes run at the same time; else in slices of time
  std::vector<LatencyNeighbour> beside{};
};

struct LatencyForecast {
  double p50_ms = 0.0;
  Interval p50_90{};
  double tail_ms = 0.0;  // the quantile of the goal
  Interval tail90{};
  double solo_p50_ms = 0.0;
  enum class Basis {
    Gate,          // solo latency, and what the gate lets in front of a request
    Interference,  // solo latency, and the predicted slowdown under MPS
    Slices,        // solo latency, and slices of time
    Measured,      // this very group ran before, or the job alone
  } basis = Basis::Measured;
  std::uint64_t requests = 0;  // that the basis was measured over
};

// A forecast that was made when a group came together, and what was measured since.
struct WatchedLatency {
  std::optional<LatencyForecast> predicted{};  // empty: too little was known
  std::vector<std::string> beside{};           // workloads
  std::uint64_t requests = 0;                  // since then
  double p50_ms = 0.0;                         // of the last requests; 0: too few since then
  double tail_ms = 0.0;
};

}  // namespace carpool
