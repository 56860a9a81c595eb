// `carpool submit --dry-run`: asks the server what a submission would lead to.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/command_context.hpp"
#include "app/server/server_client.hpp"

namespace carpool::app {

// Prints the answer. `estimated`: the client's estimate of memory, for people; may be empty.
[[nodiscard]] Result<void> print_dry_run(ServerClient& server,
                                         const nlohmann::json& job,
                                         bool hold,
                                         const std::string& estimated,
                                         const CommandContext& context);

}  // namespace carpool::app
