#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/server/server_client.hpp"
#include "base/text/memory_size.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct PruneOptions {
  ServerOptions server;
  std::optional<std::string> older_than;
  std::optional<std::string> keep;
  bool dry_run = false;
};

void add_prune_options(OptionSet& options, PruneOptions& prune) {
  options.option("--older-than",
                 &prune.older_than,
                 "TIME",
                 "Remove outputs of jobs that ended longer ago: 12h, 30d",
                 {.check = time_with_unit()});
  options.option("--keep",
                 &prune.keep,
                 "SIZE",
                 "Remove the oldest outputs until the others hold no more than this: 20G",
                 {.check = memory_size()});
  options.flag("--dry-run", prune.dry_run, "Say what would be removed and remove nothing");
  add_socket(options, prune.server);
}

Result<json> prune_request(const PruneOptions& options) {
  if (!options.older_than && !options.keep) {
    return invalid_input("nothing says what to remove: give --older-than 30d, or --keep 20G");
  }
  json request = {{"dry_run", options.dry_run}};
  if (options.older_than) {
    const auto seconds = serve::parse_seconds(*options.older_than);
    if (!seconds) {
      return tl::unexpected(seconds.error());
    }
    request["older_than_s"] = *seconds;
  }
  if (options.keep) {
    const auto bytes = parse_memory_size(*options.keep);
    if (!bytes) {
      return tl::unexpected(bytes.error());
    }
    request["keep_bytes"] = *bytes;
  }
  return request;
}

std::string pruned_text(const json& answer) {
  const auto attempts = answer.value("attempts", std::size_t{0});
  return fmt::format(
      "{} the outputs of {} ended attempt{}, {}. Outputs of other ended jobs hold {}.",
      answer.value("dry_run", false) ? "Would remove" : "Removed",
      attempts,
      attempts == 1 ? "" : "s",
      serve::show_bytes(answer.value("bytes", std::uint64_t{0})),
      serve::show_bytes(answer.value("kept_bytes", std::uint64_t{0})));
}

Result<void> run_prune(const PruneOptions& options, const CommandContext& context) {
  const Result<json> request = prune_request(options);
  if (!request) {
    return tl::unexpected(request.error());
  }
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  return server->post("/v1/prune", *request).map([&](const json& answer) {
    context.output.json() ? context.output.print_json(answer)
                          : context.output.print(pruned_text(answer) + "\n");
  });
}

}  // namespace

CommandSpec prune_command() {
  return make_command(
      add_prune_options,
      run_prune,
      {"carpool prune --older-than 30d --dry-run", "carpool prune --keep 20G"},
      "Outputs of jobs that have not ended stay. Operators prune the outputs of all users, other "
      "users their own.");
}

}  // namespace carpool::app
