#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/job_settings.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/job_request.hpp"
#include "app/launch/local_run.hpp"
#include "app/launch/server_run.hpp"
#include "base/text/memory_size.hpp"
#include "serve/job_request.hpp"

namespace carpool::app {
namespace {

struct RunOptions {
  std::vector<std::string> command;
  JobSettings job;
  ServerOptions server;
  bool pty = false;
  bool no_server = false;
  // Without a server
  std::optional<std::string> mem_guarantee;
  std::optional<std::string> mps;
  std::optional<std::string> kernel_log;
  bool learn_kernels = false;
};

void add_options_of_run(OptionSet& options, RunOptions& run) {
  options.program("command",
                  run.command,
                  "COMMAND",
                  "Program and its arguments, behind --; options of carpool come before it");
  add_run_settings(options, run.job);
  options.flag("--pty", run.pty, "Connect the job to this terminal: for a shell or a notebook");
  add_socket(options, run.server);
  options.flag("--no-server",
               run.no_server,
               "Run the program without a server, under the lock of the GPU; the options below, "
               "--mem, --name, --slo, --quantile, --best-effort, --policy and --gpu with one index "
               "(default: 0) apply",
               {.excludes = "--socket"});
  options.option("--mem-guarantee",
                 &run.mem_guarantee,
                 "SIZE",
                 "GPU memory that other programs leave to this one (default: none)",
                 {.check = memory_size()});
  options.option("--mps",
                 &run.mps,
                 "WHEN",
                 "Share the GPU by MPS: on, off, or auto (default), which uses it where it works, "
                 "but not with --slo, because requests are faster outside; without it programs "
                 "take turns",
                 {.choices = {"auto", "on", "off"}});
  options.option("--kernel-log",
                 &run.kernel_log,
                 "FILE",
                 "Write time, process, stream and kernel of every launch to this CSV file");
  options.flag("--learn-kernels",
               run.learn_kernels,
               "Measure some launches, so that the durations of kernels become known");
}

// Those of the given options that are for a job of a server only.
Result<std::vector<std::string>> job_options(const JobSettings& job, bool pty) {
  static const std::map<std::string, std::string> other_names = {
      {"time_s", "time"}, {"runtime_s", "runtime"}, {"cwd", "chdir"}};
  JobSettings of_job = job;
  of_job.latency = {};
  const Result<nlohmann::json> given = given_settings(of_job);
  if (!given) {
    return tl::unexpected(given.error());
  }
  std::vector<std::string> names;
  for (const auto& [key, value] : given->items()) {
    const auto other = other_names.find(key);
    std::string name = other == other_names.end() ? key : other->second;
    std::ranges::replace(name, '_', '-');
    if (name != "mem" && name != "name" && name != "gpu") {
      names.push_back(fmt::format("--{}", name));
    }
  }
  if (job.clean_env) {
    names.emplace_back("--clean-env");
  }
  if (pty) {
    names.emplace_back("--pty");
  }
  return names;
}

// Those of the given options that are for a program without a server only.
std::vector<std::string> local_options(const RunOptions& run) {
  std::vector<std::string> names;
  for (const auto& [name, given] : {std::pair("--mem-guarantee", run.mem_guarantee.has_value()),
                                    std::pair("--mps", run.mps.has_value()),
                                    std::pair("--kernel-log", run.kernel_log.has_value()),
                                    std::pair("--learn-kernels", run.learn_kernels)}) {
    if (given) {
      names.emplace_back(name);
    }
  }
  return names;
}

Result<void> check_local(const RunOptions& options) {
  const Result<std::vector<std::string>> names = job_options(options.job, options.pty);
  if (!names) {
    return tl::unexpected(names.error());
  }
  if (!names->empty()) {
    return invalid_input(
        fmt::format("{} {} a job of a server, and {}: start one with `carpool serve`, or leave {} "
                    "out",
                    fmt::join(*names, ", "),
                    names->size() == 1 ? "is for" : "are for",
                    options.no_server ? "--no-server uses none" : "none answers",
                    names->size() == 1 ? "it" : "them"));
  }
  if (options.job.gpu.size() > 1) {
    return invalid_input(
        "--gpu: a program without a server runs on one GPU; name one, as in --gpu 0");
  }
  if (options.job.mem && !parse_memory_size(*options.job.mem)) {
    return invalid_input(fmt::format("--mem {} is for a job of a server; write a size such as 40G",
                                     *options.job.mem));
  }
  return {};
}

Result<void> run_without_server(const RunOptions& options, const CommandContext& context) {
  return check_local(options).and_then([&] {
    const std::string name = serve::default_name(options.command);
    return run_locally(
        {.command = options.command,
         .name = options.job.name.value_or(name.empty() ? "program" : name),
         .mem = options.job.mem,
         .mem_guarantee = options.mem_guarantee,
         .mps = options.mps.value_or("auto"),
         .latency = options.job.latency,
         .gpu = options.job.gpu.empty() ? 0U : static_cast<unsigned>(options.job.gpu.front()),
         .kernel_log = options.kernel_log,
         .learn_kernels = options.learn_kernels},
        context);
  });
}

Result<void> run_run(const RunOptions& options, const CommandContext& context) {
  if (context.output.json()) {
    return invalid_input(
        "run prints what the program prints, and no JSON; `carpool submit --wait --json` prints "
        "how the job ended");
  }
  if (options.command.empty()) {
    return invalid_input("no program; give it behind --: carpool run -- python train.py");
  }
  if (options.no_server) {
    return run_without_server(options, context);
  }
  Result<std::optional<ServerClient>> server = answering_server(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  if (!*server) {
    return run_without_server(options, context);
  }
  if (const auto names = local_options(options); !names.empty()) {
    return invalid_input(fmt::format(
        "{} {} a program without a server, and one answers on {}: leave {} out, or add --no-server "
        "for a GPU that it does not manage",
        fmt::join(names, ", "),
        names.size() == 1 ? "is for" : "are for",
        server_socket(options.server).string(),
        names.size() == 1 ? "it" : "them"));
  }
  return run_as_job(**server,
                    {.server = options.server,
                     .command = options.command,
                     .job = options.job,
                     .pty = options.pty},
                    context);
}

}  // namespace

CommandSpec run_command() {
  return make_command(
      add_options_of_run,
      run_run,
      {"carpool run --mem 40G -- python3 serve.py",
       "carpool run --slo 20ms --quantile 0.999 -- python3 serve.py",
       "carpool run --best-effort -- python3 finetune.py",
       "carpool run --best-effort --policy time -- python3 finetune.py",
       "carpool run --mem-guarantee 20G --mps on -- python3 serve.py",
       "carpool run --mps off --gpu 0 -- python3 serve.py",
       "carpool run --kernel-log launches.csv -- python3 serve.py"},
      "Where a server answers, the program is a job of it, as with submit: the command waits in\n"
      "the queue, prints the output and returns the exit code of the job, or 128+N if signal N\n"
      "ended it. Ctrl-C cancels the job. Standard input reaches it only with --pty, as\n"
      "in carpool run --pty --mem 8G -- bash. Without a server --mem is a limit, beyond which\n"
      "allocations fail. A program with --slo keeps its latency beside programs of the same user\n"
      "with --best-effort, whose kernels wait for it; carpool explain --holds says why they did.");
}

}  // namespace carpool::app
