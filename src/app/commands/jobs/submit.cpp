#include <cstdint>
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
#include "app/inputs/submit_memory.hpp"
#include "app/launch/server_note.hpp"
#include "app/remote/remote_access.hpp"
#include "app/server/dry_run.hpp"
#include "app/server/job_wait.hpp"
#include "app/server/server_client.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct SubmitOptions {
  ServerOptions server;
  std::vector<std::string> command;
  JobSettings job;
  bool wait = false;
  bool parsable = false;
  bool dry_run = false;
};

void add_submit_options(OptionSet& options, SubmitOptions& submit) {
  options.program("command",
                  submit.command,
                  "COMMAND",
                  "Program and its arguments behind --, JOB.toml, TASK.rad, or a script with "
                  "#CARPOOL lines; options of carpool come before it");
  add_job_settings(options, submit.job);
  options.flag("--wait", submit.wait, "Wait until the job has ended and return its exit code");
  options.flag("--parsable", submit.parsable, "Print only the number of the job");
  options.flag("--dry-run",
               submit.dry_run,
               "Submit nothing: say where the job would start, beside whom, how fast and when");
  add_socket(options, submit.server);
}

// `estimated`: what the client estimated of its memory, or nothing.
std::string submitted_text(const std::vector<std::int64_t>& ids, const std::string& estimated) {
  const std::string remark = estimated.empty() ? "" : estimated + "\n";
  if (ids.size() == 1) {
    return fmt::format("Submitted job {}\n{}", ids.front(), remark);
  }
  return fmt::format("Submitted jobs {} to {}\n{}", ids.front(), ids.back(), remark);
}

// Takes the key out of the request.
Result<bool> take_hold(json& job) {
  const json hold = job.value(kHoldKey, json(false));
  job.erase(kHoldKey);
  return hold.is_boolean() ? Result<bool>(hold.get<bool>())
                           : invalid_input("hold: expected true or false");
}

Result<void> run_submit(const SubmitOptions& options, const CommandContext& context) {
  if (options.dry_run && (options.wait || options.parsable)) {
    return invalid_input(fmt::format("--dry-run submits no job: leave {} out",
                                     options.wait ? "--wait" : "--parsable"));
  }
  Result<json> job =
      job_request(options.command, options.job, remote_host(options.server).has_value());
  if (!job) {
    return tl::unexpected(job.error());
  }
  const Result<bool> hold = take_hold(*job);
  if (!hold) {
    return tl::unexpected(hold.error());
  }
  const Result<std::string> estimated = put_estimated_memory(*job, options.server);
  if (!estimated) {
    return tl::unexpected(estimated.error());
  }
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  if (options.dry_run) {
    return print_dry_run(*server, *job, *hold, *estimated, context).map([&] {
      note_shortcoming(*server, *job);
    });
  }
  const Result<json> accepted = server->post(*hold ? "/v1/jobs?hold=1" : "/v1/jobs", *job);
  if (!accepted) {
    return tl::unexpected(accepted.error());
  }
  note_shortcoming(*server, *job);
  const auto ids = accepted->at("ids").get<std::vector<std::int64_t>>();
  if (!context.output.json()) {
    context.output.print(options.parsable ? fmt::format("{}\n", fmt::join(ids, "\n"))
                                          : submitted_text(ids, *estimated));
  }
  if (!options.wait) {
    context.output.print_json_of(json::array({*accepted}), 1, /*problems=*/false);
    return {};
  }
  if (const Result<void> written = context.output.flush(); !written) {
    return written;
  }
  json waited = wait_for_jobs(*server, ids, std::nullopt, context);
  if (context.output.json()) {
    json document = *accepted;
    document["jobs"] = std::move(waited);
    context.output.print_json(document);
  }
  return {};
}

}  // namespace

CommandSpec submit_command() {
  return make_command(
      add_submit_options,
      run_submit,
      {"carpool submit -- python train.py --epochs 3",
       "carpool submit --mem 12G --time 2h --name resnet -- python train.py",
       "carpool submit --mem auto --model config.json -- python train.py --batch-size 8",
       "carpool submit --array 0-99%4 --output 'runs/%j_%a.log' -- ./sweep.sh",
       "carpool submit --param lr=1e-3,1e-4 --param seed=1,2 -- python train.py {lr} {seed}",
       "carpool submit --begin 22:00 --gpu-type H200 -- python train.py",
       "carpool submit --dry-run --mem 12G -- python train.py"},
      "With --wait the exit code is that of the job, or 128+N if signal N ended it.");
}

}  // namespace carpool::app
