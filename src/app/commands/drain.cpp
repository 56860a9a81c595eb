#include <chrono>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/server/server_client.hpp"
#include "base/process/stop_signals.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct DrainOptions {
  ServerOptions server;
  bool undo = false;
  bool wait = false;
};

void add_drain_options(OptionSet& options, DrainOptions& drain) {
  options.flag("--wait", drain.wait, "Return when no job runs any more");
  options.flag("--undo", drain.undo, "Start jobs again");
  add_socket(options, drain.server);
}

std::string drained_text(std::size_t running) {
  const std::string rest = running == 0   ? "No job is running."
                           : running == 1 ? "1 job is still running."
                                          : fmt::format("{} jobs are still running.", running);
  return fmt::format(
      "No further job starts, also after a restart of the server, until `carpool drain --undo`. {}",
      rest);
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
        context.output.remark(options.undo ? "Jobs start again." : drained_text(running));
      }
      return {};
    }
  }
}

}  // namespace

CommandSpec drain_command() {
  return make_command(
      add_drain_options, run_drain, {"carpool drain --wait", "carpool drain --undo"});
}

}  // namespace carpool::app
