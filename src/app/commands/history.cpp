#include <cstddef>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/server/server_client.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct HistoryOptions {
  ServerOptions server;
  bool all = false;
  std::size_t most = 20;
};

void add_history_options(OptionSet& options, HistoryOptions& history) {
  options.flag("-a,--all", history.all, "Show the jobs of all users");
  options.option("-n,--most",
                 &history.most,
                 "N",
                 "Number of jobs to show (default: 20)",
                 {.check = whole_number(1)});
  add_socket(options, history.server);
}

std::string history_table(const json& jobs, bool colour) {
  TextTable table(colour);
  table.add_column("JOBID", TextTable::Align::Right);
  table.add_column("NAME", TextTable::Align::Left);
  table.add_column("USER", TextTable::Align::Left);
  table.add_column("END", TextTable::Align::Left);
  table.add_column("WAITED", TextTable::Align::Right);
  table.add_column("RAN", TextTable::Align::Right);
  table.add_column("REASON", TextTable::Align::Left);
  for (const json& job : jobs) {
    const double ended = job.at("ended_s").get<double>();
    const double started = job.value("started_s", ended);
    table.add_row({fmt::format("{}", job.at("id").get<std::int64_t>()),
                   first_columns(job.value("name", "-"), 24),
                   job.value("user", ""),
                   job.value("end", ""),
                   serve::show_seconds(started - job.at("submitted_s").get<double>()),
                   serve::show_seconds(ended - started),
                   first_columns(job.value("reason", ""), 60)});
  }
  return table.render();
}

Result<void> run_history(const HistoryOptions& options, const CommandContext& context) {
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  const Result<json> page =
      server->get(fmt::format("/v1/history?limit={}{}", options.most, options.all ? "&all=1" : ""));
  if (!page) {
    return tl::unexpected(page.error());
  }
  if (context.output.json()) {
    context.output.print_json(*page);
  } else if (page->at("jobs").empty()) {
    context.output.remark("No job has ended yet.");
  } else {
    context.output.print(history_table(page->at("jobs"), context.output.colour()));
  }
  return {};
}

}  // namespace

CommandSpec history_command() {
  return make_command(
      add_history_options, run_history, {"carpool history -n 50", "carpool history --all --json"});
}

}  // namespace carpool::app
