#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/since_time.hpp"
#include "app/output/usage_output.hpp"
#include "app/server/server_client.hpp"
#include "base/clock.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct UsageOptions {
  ServerOptions server;
  std::string by = "user";
  std::string since = "7d";
};

void add_usage_options(OptionSet& options, UsageOptions& usage) {
  options.option("--by",
                 &usage.by,
                 "WHAT",
                 "Add up by user or by job (default: user)",
                 {.choices = {"user", "job"}});
  options.option(
      "--since",
      &usage.since,
      "TIME",
      "Start of the time that is added up: 7d or 12h before now, or a date (default: 7d)",
      {.check = [](const std::string& text) {
        const auto at_s = parse_since(text, epoch_seconds());
        return at_s ? std::string() : at_s.error().message;
      }});
  add_socket(options, usage.server);
}

Result<void> run_usage(const UsageOptions& options, const CommandContext& context) {
  const Result<double> since_s = parse_since(options.since, epoch_seconds());
  if (!since_s) {
    return tl::unexpected(since_s.error());
  }
  const Result<json> usage =
      ServerClient::connect(options.server).and_then([&](ServerClient server) {
        return server.get(fmt::format("/v1/usage?by={}&since_s={:.3f}", options.by, *since_s));
      });
  if (!usage) {
    return tl::unexpected(usage.error());
  }
  if (context.output.json()) {
    context.output.print_json(*usage);
  } else if (usage->at("rows").empty() && !usage->contains("others")) {
    context.output.remark(fmt::format("No job ran since {}.", serve::show_time(*since_s)));
  } else {
    context.output.print(usage_text(*usage, context.output.colour(), terminal_columns()));
  }
  return {};
}

}  // namespace

CommandSpec usage_command() {
  return make_command(
      add_usage_options,
      run_usage,
      {"carpool usage", "carpool usage --by job --since 12h", "carpool usage --since 30d --json"},
      "GPU TIME is the time on GPUs times their number, pauses included. DELIVERED is that time "
      "at the speed that the jobs had beside others, without pauses. MEM is the reserved memory "
      "times GPU TIME. Of other users only the sum is shown, except to operators.");
}

}  // namespace carpool::app
