// Estimates the memory of a job that is submitted with `--mem auto`.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/shared_options.hpp"
#include "base/result.hpp"

namespace carpool::app {

// Key of a request: a file that describes the model. Removed before the request is sent.
inline constexpr const char* kModelKey = "model";

// Replaces "auto" in the request by the upper bound of an estimate: from earlier runs if the server
// knows some, else from the description of the model. Runs in the client, because the server opens
// no file that a user names. Returns a message for the user; empty if nothing was estimated.
[[nodiscard]] Result<std::string> put_estimated_memory(nlohmann::json& job,
                                                       const ServerOptions& server);

}  // namespace carpool::app
