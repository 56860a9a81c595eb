// Commands about jobs: show, cancel, hold, release, requeue; explain is in explain.cpp.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/job_selection.hpp"
#include "app/output/job_text.hpp"
#include "app/server/job_action.hpp"
#include "app/server/server_client.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct JobActionOptions {
  ServerOptions server;
  JobSelection jobs;
};

Result<void> act_on(const JobAction& action,
                    const JobActionOptions& options,
                    const CommandContext& context) {
  const Result<JobChoice> choice = read_job_selection(options.jobs);
  if (!choice) {
    return tl::unexpected(choice.error());
  }
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  return act_on_jobs(*server, *choice, action, context);
}

CommandSpec job_command(JobAction action, std::vector<std::string> examples) {
  auto options = std::make_shared<JobActionOptions>();
  CommandSpec command{.examples = std::move(examples)};
  add_job_selection(command.options, options->jobs, action.which);
  add_socket(command.options, options->server);
  command.run = [options, action = std::move(action)](const CommandContext& context) {
    return act_on(action, *options, context);
  };
  return command;
}

// Has the server change jobs; `doing` is the change as a gerund.
CommandSpec changing(const char* verb,
                     const char* doing,
                     const char* states,
                     const char* which,
                     std::vector<std::string> examples) {
  return job_command({.ask =
                          [verb](ServerClient& server, std::int64_t job) {
                            return server.post(fmt::format("/v1/jobs/{}/{}", job, verb),
                                               json::object());
                          },
                      .text =
                          [doing](const json& /*answers*/, const std::vector<std::int64_t>& jobs) {
                            return fmt::format("{} {}.", doing, jobs_text(jobs));
                          },
                      .states = states,
                      .which = which,
                      .remarks = true},
                     std::move(examples));
}

}  // namespace

CommandSpec show_command() {
  return job_command(reading_action("", show_text), {"carpool show 17", "carpool show @"});
}

CommandSpec cancel_command() {
  return changing("cancel",
                  "Cancelling",
                  "active",
                  "that have not ended",
                  {"carpool cancel 17", "carpool cancel 3-12", "carpool cancel --all-mine"});
}

CommandSpec hold_command() {
  return changing("hold",
                  "Holding",
                  "queued",
                  "that wait",
                  {"carpool hold 17", "carpool hold 3-12", "carpool hold --all-mine"});
}

CommandSpec release_command() {
  return changing("release",
                  "Releasing",
                  "held",
                  "that are held",
                  {"carpool release 17", "carpool release 3-12", "carpool release --all-mine"});
}

CommandSpec requeue_command() {
  return changing("requeue",
                  "Requeueing",
                  "running",
                  "that run",
                  {"carpool requeue 17", "carpool requeue --all-mine"});
}

}  // namespace carpool::app
