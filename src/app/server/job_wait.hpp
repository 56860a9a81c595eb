// Waiting for jobs, and what their ends mean to a shell.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/command_context.hpp"
#include "app/server/server_client.hpp"

namespace carpool::app {

// Of a job that is over: its own code, 128 + N by a signal, 1 when it never ran.
[[nodiscard]] int shell_code(const nlohmann::json& job);

// Until all are over; the program's exit code becomes the largest of theirs, 75 when the time was
// up before. Says how each ended.
[[nodiscard]] Result<void> wait_for_jobs(ServerClient& server,
                                         const std::vector<std::int64_t>& jobs,
                                         std::optional<double> limit_s,
                                         const CommandContext& context);

}  // namespace carpool::app
