#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/server/job_wait.hpp"
#include "app/server/server_client.hpp"

namespace carpool::app {
namespace {

struct WaitOptions {
  ServerOptions server;
  std::vector<std::int64_t> jobs;
  std::optional<double> limit_s;
};

void add_wait_options(OptionSet& options, WaitOptions& wait) {
  options.positional("jobs", &wait.jobs, "JOB", "Numbers of jobs", {.required = true});
  options.option("--limit",
                 &wait.limit_s,
                 "SECONDS",
                 "Longest time to wait; exit code 75 when it is over",
                 {.check = seconds_from(0.0)});
  add_socket(options, wait.server);
}

Result<void> run_wait(const WaitOptions& options, const CommandContext& context) {
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  return wait_for_jobs(*server, options.jobs, options.limit_s, context)
      .map([&](const nlohmann::json& waited) {
        context.output.print_json_of(waited, options.jobs.size());
      });
}

}  // namespace

CommandSpec wait_command() {
  return make_command(
      add_wait_options, run_wait, {"carpool wait 17 18", "carpool wait --limit 60 17"});
}

}  // namespace carpool::app
