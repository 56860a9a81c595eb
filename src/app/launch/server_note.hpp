// Tells a user what the server does not do for a job.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/server/server_client.hpp"

namespace carpool::app {

// `request` is a job of POST /v1/jobs.
void note_shortcomings(ServerClient& server, const nlohmann::json& request);

}  // namespace carpool::app
