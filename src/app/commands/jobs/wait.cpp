#include <optional>

#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/job_selection.hpp"
#include "app/server/job_wait.hpp"
#include "app/server/server_client.hpp"

namespace carpool::app {
namespace {

constexpr OwnJobs kActive = {.states = "active", .which = "that have not ended"};

struct WaitOptions {
  ServerOptions server;
  JobSelection jobs;
  std::optional<double> limit_s;
};

void add_wait_options(OptionSet& options, WaitOptions& wait) {
  add_job_selection(options, wait.jobs, kActive.which);
  options.option("--limit",
                 &wait.limit_s,
                 "SECONDS",
                 "Longest time to wait; exit code 75 when it is over",
                 {.check = seconds_from(0.0)});
  add_socket(options, wait.server);
}

Result<void> run_wait(const WaitOptions& options, const CommandContext& context) {
  const Result<JobChoice> choice = read_job_selection(options.jobs);
  if (!choice) {
    return tl::unexpected(choice.error());
  }
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  const Result<SelectedJobs> selected = select_jobs(*server, *choice, kActive);
  if (!selected) {
    return tl::unexpected(selected.error());
  }
  for (const Error& problem : selected->problems) {
    note_problem(problem, context);
  }
  const nlohmann::json waited = wait_for_jobs(*server, selected->ids, options.limit_s, context);
  context.output.print_json_of(waited, choice->single() ? 1 : 2, context.exit_code != 0);
  return {};
}

}  // namespace

CommandSpec wait_command() {
  return make_command(
      add_wait_options,
      run_wait,
      {"carpool wait 17 18", "carpool wait --limit 60 '17[]'", "carpool wait --all-mine"});
}

}  // namespace carpool::app
