#include <cstdint>
#include <cstdio>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/job_selection.hpp"
#include "app/output/terminal_filter.hpp"
#include "app/server/server_client.hpp"
#include "base/process/stop_signals.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct LogsOptions {
  ServerOptions server;
  JobSelection jobs;
  bool follow = false;
  bool raw = false;
  unsigned attempt = 0;  // 0: the last
};

void add_logs_options(OptionSet& options, LogsOptions& logs) {
  add_job_selection(options, logs.jobs, "that run");
  options.flag("-f,--follow", logs.follow, "Print further output until the job has ended");
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

// One output of a job, and how much of it has been printed.
struct Reading {
  const char* stream = "";
  std::FILE* to = nullptr;
  std::string* into = nullptr;  // collects the output instead
  std::uint64_t offset = 0;
  bool over = false;
  bool filtered = false;
  TerminalFilter filter{};
};

void write(const Reading& reading, const std::string& text) {
  if (reading.into != nullptr) {
    *reading.into += text;
    return;
  }
  std::fwrite(text.data(), 1, text.size(), reading.to);
  std::fflush(reading.to);
}

// True: there was further output.
Result<bool> read_on(ServerClient& server,
                     std::int64_t job,
                     const LogsOptions& options,
                     Reading& reading,
                     double wait_s) {
  const Result<LogPart> part =
      server.get_log(fmt::format("/v1/jobs/{}/logs?stream={}&offset={}&attempt={}&wait_s={:.2f}",
                                 job,
                                 reading.stream,
                                 reading.offset,
                                 options.attempt,
                                 wait_s));
  if (!part) {
    return tl::unexpected(part.error());
  }
  write(reading, reading.filtered ? reading.filter.pass(part->bytes) : part->bytes);
  reading.offset = part->next;
  reading.over = part->over;
  return !part->bytes.empty();
}

// To a terminal the output goes without the sequences that could change more than its own look: who
// reads the output of a job need not trust its owner.
bool is_filtered(const LogsOptions& options, int descriptor) {
  return !options.raw && isatty(descriptor) == 1;
}

// With --json the answer has the output, else it is printed.
Result<json> print_log(ServerClient& server,
                       std::int64_t job,
                       const LogsOptions& options,
                       const CommandContext& context) {
  StopSignals signals;
  Reading out{.stream = "stdout", .to = stdout, .filtered = is_filtered(options, STDOUT_FILENO)};
  Reading err{.stream = "stderr", .to = stderr, .filtered = is_filtered(options, STDERR_FILENO)};
  std::string collected_out;
  std::string collected_err;
  if (context.output.json()) {
    out = {.stream = "stdout", .into = &collected_out};
    err = {.stream = "stderr", .into = &collected_err};
  }
  constexpr double kWait = 0.5;  // for standard output, when neither stream had more
  bool came = true;
  while (!signals.came()) {
    const Result<bool> first =
        read_on(server, job, options, out, options.follow && !came ? kWait : 0.0);
    const Result<bool> second = first ? read_on(server, job, options, err, 0.0) : first;
    if (!second) {
      return tl::unexpected(second.error());
    }
    came = *first || *second;
    if (!came && (!options.follow || (out.over && err.over))) {
      break;
    }
  }
  write(out, out.filter.finish());
  write(err, err.filter.finish());
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
  const Result<SelectedJobs> selected = select_jobs(*server, *choice, "running,stopping");
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
  context.output.print_json_of(logs, choice->single() ? 1 : 2);
  for (const Error& problem : problems) {
    note_problem(problem, context);
  }
  return {};
}

}  // namespace

CommandSpec logs_command() {
  return make_command(add_logs_options,
                      run_logs,
                      {"carpool logs 17", "carpool logs -f @", "carpool logs 17 18"},
                      "Standard output of the job goes to standard output, its standard error to "
                      "standard error.");
}

}  // namespace carpool::app
