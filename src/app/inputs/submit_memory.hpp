// Memory "auto" of a job that is about to be submitted.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/job_options.hpp"
#include "base/result.hpp"

namespace carpool::app {

// Of a request: a file that describes the model. For us alone, never sent.
inline constexpr const char* kModelKey = "model";

// Puts the upper bound of an estimate where the request says "auto": from earlier runs, where this
// server knows some, else from what describes the model. Made here, as the user, because the server
// opens no file that a user names. Returns what to tell the user; empty: nothing was estimated.
[[nodiscard]] Result<std::string> put_estimated_memory(nlohmann::json& job,
                                                       const ServerOptions& server);

}  // namespace carpool::app
