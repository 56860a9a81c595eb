// Why a job waits, or runs where it does, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/interference_model.hpp"
#include "core/job_record.hpp"
#include "schedule/explain.hpp"

namespace carpool::serve {

[[nodiscard]] nlohmann::json explanation_view(const schedule::Explanation& explanation,
                                              const JobRecord& job);

// Parts of it.
[[nodiscard]] nlohmann::json forecast_view(const ProgressForecast& forecast);
[[nodiscard]] nlohmann::json latency_view(const LatencyForecast& forecast, const LatencyGoal& goal);
[[nodiscard]] nlohmann::json candidate_view(const schedule::CandidateGpu& candidate);
[[nodiscard]] nlohmann::json change_view(const schedule::StartingChange& change);

}  // namespace carpool::serve
