// What is predicted and measured of the requests of jobs with an SLO, for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/cluster_snapshot.hpp"
#include "core/interference_model.hpp"

namespace carpool::schedule {

// The latency of a job with an SLO in a group.
struct GroupLatency {
  JobId job = 0;
  LatencyGoal goal{};
  LatencyForecast forecast{};
};

// Of the jobs of its user on a GPU if this one joins, itself included. Jobs of which too little is
// known are left out.
[[nodiscard]] std::vector<GroupLatency> latencies_with(const InterferenceModel& model,
                                                       const GpuView& gpu,
                                                       const QueuedJob& job);

// "p99 13 ms (11 to 16 ms), from 812 requests alone and slices of time"
[[nodiscard]] std::string latency_words(const LatencyForecast& forecast, double quantile);

// "predicted p99 13 ms (11 to 16 ms) beside train.py, from …; measured 12.4 ms over 812 requests".
// `watched`: of a job that computes.
[[nodiscard]] std::string promise_words(const InterferenceModel& model,
                                        const QueuedJob& job,
                                        const std::optional<WatchedLatency>& watched);

}  // namespace carpool::schedule
