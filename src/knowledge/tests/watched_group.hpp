// Groups as the server sees them, second by second.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/learner.hpp"
#include "core/workload_identity.hpp"

namespace carpool::knowledge::fake {

inline std::string mine(const std::string& name) {
  return scoped_workload(1000, name);
}

struct Watch {
  std::vector<std::string> workloads{};
  double from_s = 0.0;
  double for_s = 20.0;
  std::function<double()> sm_active{};               // empty: no counter
  std::function<double(std::size_t member)> rate{};  // empty: no speeds
  unsigned gpu = 0;
  double window_s = 2.0;  // of a speed
  bool foreign = false;
};

// One sample a second; a speed every `window_s`. Jobs are numbered by `from_s`: another time is
// another group. Returns the time of the end.
inline double watch(Learner& learner, const Watch& told) {
  GroupSeen seen{.gpu = told.gpu, .foreign = told.foreign};
  for (std::size_t i = 0; i < told.workloads.size(); ++i) {
    seen.computing.push_back({.job = static_cast<JobId>(told.from_s * 100) + static_cast<JobId>(i),
                              .workload = told.workloads[i]});
  }
  for (double second = 1.0; second <= told.for_s; second += 1.0) {
    seen.at_s = told.from_s + second;
    seen.unchanged_s = second;
    seen.sm_active = told.sm_active ? std::optional(told.sm_active()) : std::nullopt;
    for (std::size_t i = 0; i < seen.computing.size(); ++i) {
      seen.computing[i].computed_s = second;
      seen.computing[i].rate =
          told.rate ? std::optional(MeasuredRate{.per_s = told.rate(i), .over_s = told.window_s})
                    : std::nullopt;
    }
    learner.saw(seen);
  }
  return told.from_s + told.for_s + 1.0;
}

}  // namespace carpool::knowledge::fake
