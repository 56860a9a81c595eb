// Estimates the memory of a job that is submitted with `--mem auto`.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/shared_options.hpp"
#include "base/result.hpp"

namespace carpool::app {

// Key of a request: a file that describes the model. Removed before the request is sent.
inline constexpr const char* kModelKey = "model";

// Puts the upper bound of an estimate into the request, where its memory is not given. For "auto":
// from earlier runs if the server knows some, else from the description of the model; an error if
// neither says anything. Without "mem": only from flags of the command that name a known model, at
// once, and never an error. With "none" there is no estimate. Runs in the client, because the
// server opens no file that a user names. Returns a message for the user; empty if nothing was
// estimated.
[[nodiscard]] Result<std::string> put_estimated_memory(nlohmann::json& job,
                                                       const ServerOptions& server);

}  // namespace carpool::app
