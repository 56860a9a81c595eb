// wait, history, drain.
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_context.hpp"
#include "app/server/job_wait.hpp"
#include "app/server/server_client.hpp"
#include "base/clock.hpp"
#include "base/process/stop_signals.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

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

}  // namespace

Result<void> run_wait(const WaitOptions& options, const CommandContext& context) {
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  return wait_for_jobs(*server, options.jobs, options.limit_s, context);
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

Result<void> run_drain(const DrainOptions& options, const CommandContext& context) {
  StopSignals signals;
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  constexpr std::chrono::milliseconds kLookEvery{200};
  while (true) {
    const Result<json> answer = server->post("/v1/drain", {{"drain", !options.undo}});
    if (!answer) {
      return tl::unexpected(answer.error());
    }
    const auto running = answer->value("running", std::size_t{0});
    if (!options.wait || options.undo || running == 0 || signals.wait_for(kLookEvery)) {
      if (context.output.json()) {
        context.output.print_json(*answer);
      } else {
        context.output.remark(options.undo
                                  ? std::string("Jobs are started again.")
                                  : fmt::format("No further job starts; {} still run.", running));
      }
      return {};
    }
  }
}

}  // namespace carpool::app
