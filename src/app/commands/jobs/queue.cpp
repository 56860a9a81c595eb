#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/output/queue_table.hpp"
#include "app/server/server_client.hpp"
#include "serve/caller.hpp"
#include "serve/job_listing.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct QueueOptions {
  ServerOptions server;
  bool all = false;
  std::optional<std::string> user;
  std::optional<std::string> state;
  bool expand = false;
};

void add_queue_options(OptionSet& options, QueueOptions& queue) {
  options.flag("-a,--all", queue.all, "Show the jobs of all users");
  options.option("--user", &queue.user, "NAME", "User whose jobs to show");
  options.option("--state",
                 &queue.state,
                 "S,S",
                 "States to show: queued, held, running, stopping, succeeded, failed, cancelled, "
                 "active (default), ended",
                 {.check = [](const std::string& words) {
                   const auto states = serve::state_set(words);
                   return states ? std::string() : states.error().message;
                 }});
  options.flag("--expand", queue.expand, "Show each job of an array in a row of its own");
  add_socket(options, queue.server);
}

Result<void> run_queue(const QueueOptions& options, const CommandContext& context) {
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  std::string query =
      fmt::format("state={}{}", options.state.value_or("active"), options.all ? "&all=1" : "");
  if (options.user) {
    query += fmt::format("&user={}", *options.user);
  }
  const Result<json> jobs = server->list_jobs(query);
  if (!jobs) {
    return tl::unexpected(jobs.error());
  }
  // A user who has jobs may have been removed from the machine since.
  if (jobs->empty() && options.user) {
    if (const auto known = serve::user_id(*options.user); !known) {
      return fail(known.error().code,
                  fmt::format("--user: {}; `carpool queue --all` shows the jobs of all users",
                              known.error().message));
    }
  }
  const Result<json> status = server->get("/v1/status");
  if (const std::string notice = status ? status->value("notice", "") : ""; !notice.empty()) {
    context.output.remark(fmt::format("Note: {}.", notice));
  }
  if (context.output.json()) {
    context.output.print_json({{"version", 1}, {"jobs", *jobs}});
  } else if (jobs->empty()) {
    context.output.remark(
        "No jobs. `carpool submit -- COMMAND` submits one; --all shows the jobs of all users.");
  } else {
    context.output.print(
        queue_table(*jobs, options.expand, context.output.colour(), terminal_columns()));
  }
  return {};
}

}  // namespace

CommandSpec queue_command() {
  return make_command(add_queue_options,
                      run_queue,
                      {"carpool queue", "carpool queue --all --state running --json"},
                      "REASON is one word, `carpool explain JOB` says it in a sentence.");
}

}  // namespace carpool::app
