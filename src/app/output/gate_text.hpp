// What the launch gate did, for people; from the JSON of serve/metrics/job_gate.hpp.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace carpool::app {

// "99.9 % of 1200 requests within 20 ms (goal 99 %); p50 3.1 ms, p99 9.8 ms"; empty: no SLO.
[[nodiscard]] std::string promise_text(const nlohmann::json& gate);
// "12.4 s in 812 launches, most: a request with an SLO is active"; empty: it gives way to none.
[[nodiscard]] std::string held_text(const nlohmann::json& gate);

// The whole report of a job or program, with a line for each reason.
[[nodiscard]] std::string holds_text(std::string_view who, const nlohmann::json& gate);
// The same of a job of the server, or why it has no report. `status`: what GET /v1/status answers.
[[nodiscard]] std::string job_holds_text(const nlohmann::json& job, const nlohmann::json& status);

}  // namespace carpool::app
