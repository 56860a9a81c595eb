#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/server/server_client.hpp"
#include "base/process/stop_signals.hpp"

namespace carpool::app {
namespace {

struct LogsOptions {
  ServerOptions server;
  std::int64_t job = 0;
  bool follow = false;
  unsigned attempt = 0;  // 0: the last
};

void add_logs_options(OptionSet& options, LogsOptions& logs) {
  options.positional("job", &logs.job, "JOB", "Number of the job", {.required = true});
  options.flag("-f,--follow", logs.follow, "Print further output until the job has ended");
  options.option("--attempt",
                 &logs.attempt,
                 "N",
                 "Number of the attempt (default: the last)",
                 {.check = whole_number()});
  add_socket(options, logs.server);
}

// One output of a job, and how much of it has been printed.
struct Reading {
  const char* stream = "";
  std::FILE* to = nullptr;
  std::uint64_t offset = 0;
  bool over = false;
};

// True: there was further output.
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

Result<void> run_logs(const LogsOptions& options, const CommandContext& /*context*/) {
  StopSignals signals;
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  Reading out{.stream = "stdout", .to = stdout};
  Reading err{.stream = "stderr", .to = stderr};
  constexpr double kWait = 0.5;  // for standard output, when neither stream had more
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

}  // namespace

CommandSpec logs_command() {
  return make_command(add_logs_options,
                      run_logs,
                      {"carpool logs 17", "carpool logs -f 17"},
                      "Standard output of the job goes to standard output, its standard error to "
                      "standard error.");
}

}  // namespace carpool::app
