// Jobs that serve requests, as the server sees them, second by second.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/learner.hpp"
#include "core/workload_identity.hpp"

namespace carpool::knowledge::fake {

inline constexpr JobId kServing = 7;  // the job with the SLO

struct Service {
  std::string workload{};             // of the job with the SLO, the first of the group
  std::vector<std::string> beside{};  // jobs of class best-effort
  std::vector<std::string> normal{};  // jobs of class normal
  double p50_ms = 5.0;
  double tail_ms = 10.0;
  double service_ms = 4.0;
  double service_square_ms2 = 17.0;
  double quantile = 0.99;
  double slo_ms = 20.0;
  double requests_per_s = 50.0;
  double from_s = 0.0;
  double for_s = 60.0;
  bool mps = true;
  bool foreign = false;
  unsigned gpu = 0;
  std::uint64_t before = 0;  // requests that the job has served
};

inline GroupSeen group_of(const Service& told) {
  GroupSeen seen{.gpu = told.gpu, .foreign = told.foreign};
  const auto add = [&](const std::string& workload, bool gated, LatencyGoal goal) {
    seen.computing.push_back(
        {.job = seen.computing.empty() ? kServing
                                       : static_cast<JobId>(told.from_s * 100) +
                                             static_cast<JobId>(seen.computing.size()),
         .workload = workload,
         .gating = gated ? Gating::All : Gating::None,
         .mechanism = told.mps ? ShareMechanism::Mps : ShareMechanism::TimeSlicing,
         .goal = goal});
  };
  add(told.workload, false, {.slo_ms = told.slo_ms, .quantile = told.quantile});
  for (const std::string& workload : told.beside) {
    add(workload, true, {});
  }
  for (const std::string& workload : told.normal) {
    add(workload, false, {});
  }
  return seen;
}

// Returns the time of the end.
inline double serve(Learner& learner, const Service& told) {
  GroupSeen seen = group_of(told);
  for (double second = 1.0; second <= told.for_s; second += 1.0) {
    seen.at_s = told.from_s + second;
    seen.unchanged_s = second;
    for (GroupSeen::Member& member : seen.computing) {
      member.computed_s = second;
    }
    const auto requests = told.before + static_cast<std::uint64_t>(second * told.requests_per_s);
    seen.computing.front().latency = MeasuredLatency{.quantile = told.quantile,
                                                     .requests = requests,
                                                     .fewest = requests,
                                                     .p50_ms = told.p50_ms,
                                                     .tail_ms = told.tail_ms,
                                                     .service_ms = told.service_ms,
                                                     .service_square_ms2 = told.service_square_ms2};
    learner.saw(seen);
  }
  return told.from_s + told.for_s + 1.0;
}

}  // namespace carpool::knowledge::fake
