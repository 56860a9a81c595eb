#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/job_selection.hpp"
#include "app/server/job_output.hpp"
#include "app/server/server_client.hpp"
#include "base/log.hpp"
#include "base/process/stop_signals.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

constexpr OwnJobs kRunning = {.states = "running,stopping", .which = "that run"};

struct LogsOptions {
  ServerOptions server;
  JobSelection jobs;
  bool follow = false;
  bool raw = false;
  unsigned attempt = 0;  // 0: the last
  std::optional<std::uint64_t> tail;
};

void add_logs_options(OptionSet& options, LogsOptions& logs) {
  add_job_selection(options, logs.jobs, kRunning.which);
  options.flag("-f,--follow", logs.follow, "Print further output until the job has ended");
  options.option("-n,--tail",
                 &logs.tail,
                 "LINES",
                 "Begin with the last lines of each stream; 0 with -f: only what comes",
                 {.check = whole_number()});
  options.option("--attempt",
                 &logs.attempt,
                 "N",
                 "Number of the attempt (default: the last)",
                 {.check = whole_number(1)});
  options.flag("--raw",
               logs.raw,
               "Write all bytes as they are to a terminal too; without it, a terminal gets colours "
               "but no other control sequences");
  add_socket(options, logs.server);
}

// To a terminal the output goes without the sequences that could change more than its own look: who
// reads the output of a job need not trust its owner.
bool is_filtered(const LogsOptions& options, int descriptor) {
  return !options.raw && isatty(descriptor) == 1;
}

// Says why nothing was printed where the job has not run.
void explain_silence(ServerClient& server, std::int64_t job) {
  const Result<json> known = server.get(fmt::format("/v1/jobs/{}", job));
  if (known && known->value("attempts", json::array()).empty()) {
    const bool waits = !known->contains("ended_s");
    log_info(fmt::format(
        "job {} {}", job, waits ? "waits: it has no output yet" : "never ran: it has no output"));
  }
}

// With --json the answer has the output, else it is printed.
Result<json> print_log(ServerClient& server,
                       std::int64_t job,
                       const LogsOptions& options,
                       const CommandContext& context) {
  StopSignals signals;
  std::string collected_out;
  std::string collected_err;
  const bool collect = context.output.json();
  JobOutput output(job,
                   options.attempt,
                   {.to = stdout,
                    .into = collect ? &collected_out : nullptr,
                    .filtered = !collect && is_filtered(options, STDOUT_FILENO)},
                   {.to = stderr,
                    .into = collect ? &collected_err : nullptr,
                    .filtered = !collect && is_filtered(options, STDERR_FILENO)},
                   options.tail);
  constexpr double kWait = 0.5;  // for standard output, when neither stream had more
  bool came = true;
  bool printed = false;
  while (!signals.came()) {
    const Result<bool> further = output.read(server, options.follow && !came ? kWait : 0.0);
    if (!further) {
      return tl::unexpected(further.error());
    }
    came = *further;
    printed = printed || came;
    if (!came && (!options.follow || output.over())) {
      break;
    }
  }
  output.finish();
  if (!printed && !collect) {
    explain_silence(server, job);
  }
  return json{{"id", job}, {"stdout", collected_out}, {"stderr", collected_err}};
}

Result<void> run_logs(const LogsOptions& options, const CommandContext& context) {
  if (context.output.json() && options.follow) {
    return invalid_input(
        "--json prints one document, and --follow never has a whole one; give one "
        "of them");
  }
  const Result<JobChoice> choice = read_job_selection(options.jobs);
  if (!choice) {
    return tl::unexpected(choice.error());
  }
  if (options.follow && !choice->single()) {
    return invalid_input("--follow prints the output of one job; name one");
  }
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  const Result<SelectedJobs> selected = select_jobs(*server, *choice, kRunning);
  if (!selected) {
    return tl::unexpected(selected.error());
  }
  std::vector<Error> problems = selected->problems;
  json logs = json::array();
  for (const std::int64_t job : selected->ids) {
    if (!choice->single() && !context.output.json()) {
      context.output.heading(fmt::format("==> job {} <==", job));
    }
    Result<json> log =
        context.output.flush().and_then([&] { return print_log(*server, job, options, context); });
    if (log) {
      logs.push_back(std::move(*log));
    } else {
      problems.push_back(std::move(log.error()));
    }
  }
  context.output.print_json_of(logs, choice->single() ? 1 : 2, !problems.empty());
  for (const Error& problem : problems) {
    note_problem(problem, context);
  }
  return {};
}

}  // namespace

CommandSpec logs_command() {
  return make_command(add_logs_options,
                      run_logs,
                      {"carpool logs 17", "carpool logs -f --tail 20 @", "carpool logs 17 18"},
                      "Standard output of the job goes to standard output, its standard error to "
                      "standard error.");
}

}  // namespace carpool::app
