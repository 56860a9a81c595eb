// `carpool run` where a server manages the GPUs: the program is a job of that server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/command_context.hpp"
#include "app/cli/job_settings.hpp"
#include "app/cli/shared_options.hpp"
#include "app/server/server_client.hpp"
#include "base/result.hpp"

namespace carpool::app {

// The server that answers; nothing where none does. An error where one was named and does not
// answer, or must not be used.
[[nodiscard]] Result<std::optional<ServerClient>> answering_server(const ServerOptions& options);

struct ServerRun {
  ServerOptions server{};
  std::vector<std::string> command{};
  JobSettings job{};
  bool pty = false;
};

// Submits the job, passes its output on, and returns when it has ended. The exit code of this
// program becomes that of the job.
[[nodiscard]] Result<void> run_as_job(ServerClient& server,
                                      const ServerRun& run,
                                      const CommandContext& context);

}  // namespace carpool::app
