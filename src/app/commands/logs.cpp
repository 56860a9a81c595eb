#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_context.hpp"
#include "app/server/server_client.hpp"
#include "base/process/stop_signals.hpp"

namespace carpool::app {
namespace {

// One of a job's outputs, printed as far as it is there.
struct Reading {
  const char* stream = "";
  std::FILE* to = nullptr;
  std::uint64_t offset = 0;
  bool over = false;
};

// True: something came.
Result<bool> read_on(ServerClient& server,
                     const LogsOptions& options,
                     Reading& reading,
                     double wait_s) {
  const Result<LogPart> part =
      server.get_log(fmt::format("/v1/jobs/{}/logs?stream={}&offset={}&attempt={}&wait_s={:.2f}",
                                 options.job,
                                 reading.stream,
                                 reading.offset,
                                 options.attempt,
                                 wait_s));
  if (!part) {
    return tl::unexpected(part.error());
  }
  std::fwrite(part->bytes.data(), 1, part->bytes.size(), reading.to);
  std::fflush(reading.to);
  reading.offset = part->next;
  reading.over = part->over;
  return !part->bytes.empty();
}

}  // namespace

// The job's standard output goes to ours, its standard error to ours.
Result<void> run_logs(const LogsOptions& options, const CommandContext& /*context*/) {
  StopSignals signals;
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  Reading out{.stream = "stdout", .to = stdout};
  Reading err{.stream = "stderr", .to = stderr};
  constexpr double kWait = 0.5;  // on each in turn, when neither has anything
  bool came = true;
  while (!signals.came()) {
    const Result<bool> first =
        read_on(*server, options, out, options.follow && !came ? kWait : 0.0);
    const Result<bool> second = first ? read_on(*server, options, err, 0.0) : first;
    if (!second) {
      return tl::unexpected(second.error());
    }
    came = *first || *second;
    if (!came && (!options.follow || (out.over && err.over))) {
      break;
    }
  }
  return {};
}

}  // namespace carpool::app
