// Tells a user whose job states a latency that the server does not keep it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/server/server_client.hpp"

namespace carpool::app {

// `request` is a job of POST /v1/jobs.
void note_unkept_latency(ServerClient& server, const nlohmann::json& request);

}  // namespace carpool::app
