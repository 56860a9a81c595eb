// Tells a user what the server does not do for a job.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/server/server_client.hpp"

namespace carpool::app {

// A sentence; empty: nothing. `status` is what GET /v1/status answers, `request` a job of
// POST /v1/jobs.
[[nodiscard]] std::string shortcoming(const nlohmann::json& status, const nlohmann::json& request);

// Prints it as a warning.
void note_shortcoming(ServerClient& server, const nlohmann::json& request);

}  // namespace carpool::app
