#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/output/gpu_table.hpp"
#include "app/output/status_screen.hpp"
#include "app/server/server_client.hpp"
#include "app/top/gpu_watch.hpp"
#include "base/process/stop_signals.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct StatusOptions {
  ServerOptions server;
};

void add_status_options(OptionSet& options, StatusOptions& status) {
  add_socket(options, status.server);
}

Result<json> ask_status(const StatusOptions& options) {
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  const Result<json> status = server->get("/v1/status");
  const Result<json> gpus = status ? server->get("/v1/gpus") : status;
  Result<json> waiting = gpus ? server->list_jobs("state=queued,held&all=1") : gpus;
  if (!waiting) {
    return waiting;
  }
  return status_object({.status = *status,
                        .gpus = gpus->at("gpus"),
                        .waiting = *waiting,
                        .socket = server_socket(options.server).string()});
}

// What is known without a server. A machine without a driver has nothing to show.
void print_gpus_alone(const Output& output) {
  StopSignals signals;
  json gpus = json::array();
  if (auto watch = GpuWatch::open(std::nullopt); watch) {
    signals.wait_for(2 * kShortestActivitySpan);
    const std::vector<GpuReading> readings = watch->read();
    if (!output.json()) {
      output.print(gpu_table(readings, output.colour(), terminal_columns()));
    }
    gpus = gpus_to_json(readings);
  }
  if (output.json()) {
    output.print_json({{"version", 1}, {"server", nullptr}, {"gpus", std::move(gpus)}});
  }
}

// Without a server the exit code is that of every command that needs one: scripts ask whether there
// is one.
Result<void> run_status(const StatusOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  const Result<json> status = ask_status(options);
  if (!status) {
    if (status.error().code == ErrorCode::Unavailable) {
      print_gpus_alone(output);
    }
    return tl::unexpected(status.error());
  }
  if (output.json()) {
    output.print_json(*status);
  } else {
    output.print(status_screen(*status, output.colour(), terminal_columns()));
  }
  return {};
}

}  // namespace

CommandSpec status_command() {
  return make_command(
      add_status_options,
      run_status,
      {"carpool status", "carpool status --json"},
      "Without a server it shows the GPUs that the driver reports, and the exit "
      "code is 69. `carpool queue` lists all jobs, `carpool top` watches the GPUs.");
}

}  // namespace carpool::app
