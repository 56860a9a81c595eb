#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/server/server_client.hpp"
#include "serve/caller.hpp"
#include "serve/job_listing.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct QueueOptions {
  ServerOptions server;
  bool all = false;
  std::optional<std::string> user;
  std::optional<std::string> state;
};

void add_queue_options(OptionSet& options, QueueOptions& queue) {
  options.flag("-a,--all", queue.all, "Show the jobs of all users");
  options.option("--user", &queue.user, "NAME", "User whose jobs to show");
  options.option("--state",
                 &queue.state,
                 "S,S",
                 "States to show: queued, held, running, stopping, succeeded, failed, cancelled, "
                 "active (default), ended",
                 {.check = [](const std::string& words) {
                   const auto states = serve::state_set(words);
                   return states ? std::string() : states.error().message;
                 }});
  add_socket(options, queue.server);
}

constexpr std::size_t kLongestReason = 60;

std::string memory_cell(const json& job) {
  const std::string asked =
      job.contains("mem_bytes") ? serve::show_bytes(job.at("mem_bytes").get<std::uint64_t>()) : "-";
  return job.contains("used_bytes")
             ? fmt::format(
                   "{}/{}", asked, serve::show_bytes(job.at("used_bytes").get<std::uint64_t>()))
             : asked;
}

std::string gpu_cell(const json& job) {
  if (job.contains("gpus")) {
    return fmt::format("{}", fmt::join(job.at("gpus").get<std::vector<unsigned>>(), ","));
  }
  return fmt::format("({})", job.value("gpu_count", 1U));
}

std::string share_cell(const json& job) {
  const std::string mechanism = job.value("mechanism", "-");
  const double limit = job.value("thread_limit_percent", 100.0);
  return mechanism == "mps" && limit < 100.0 ? fmt::format("mps {:g} %", limit) : mechanism;
}

std::string reason_cell(const json& job) {
  const std::string reason = job.value("reason", "");
  if (reason.empty()) {
    return {};
  }
  const std::string shown = first_columns(reason, kLongestReason);
  return shown.size() < reason.size() ? fmt::format("({}…)", shown) : fmt::format("({})", reason);
}

std::string job_table(const json& jobs, bool colour) {
  TextTable table(colour);
  for (const auto& [heading, align] : {std::pair("JOBID", TextTable::Align::Right),
                                       std::pair("NAME", TextTable::Align::Left),
                                       std::pair("USER", TextTable::Align::Left),
                                       std::pair("ST", TextTable::Align::Left),
                                       std::pair("TIME", TextTable::Align::Right),
                                       std::pair("GPU", TextTable::Align::Left),
                                       std::pair("SHARE", TextTable::Align::Left),
                                       std::pair("MEM(ask/used)", TextTable::Align::Right),
                                       std::pair("REASON", TextTable::Align::Left)}) {
    table.add_column(heading, align);
  }
  for (const json& job : jobs) {
    std::string name = first_columns(job.value("name", "-"), 24);
    if (job.contains("array_index")) {
      name += fmt::format("[{}]", job.at("array_index").get<int>());
    }
    table.add_row({fmt::format("{}", job.at("id").get<std::int64_t>()),
                   name,
                   job.value("user", ""),
                   job.value("code", ""),
                   serve::show_seconds(job.value("run_s", 0.0)),
                   gpu_cell(job),
                   share_cell(job),
                   memory_cell(job),
                   reason_cell(job)},
                  job.value("state", "") == "running");
  }
  return table.render();
}

Result<void> run_queue(const QueueOptions& options, const CommandContext& context) {
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  std::string query = fmt::format(
      "state={}{}", options.state.value_or("active"), options.all ? "&all=1" : "");
  if (options.user) {
    query += fmt::format("&user={}", *options.user);
  }
  const Result<json> jobs = server->list_jobs(query);
  if (!jobs) {
    return tl::unexpected(jobs.error());
  }
  // A user who has jobs may have been removed from the machine since.
  if (jobs->empty() && options.user) {
    if (const auto known = serve::user_id(*options.user); !known) {
      return fail(known.error().code,
                  fmt::format("--user: {}; `carpool queue --all` shows the jobs of all users",
                              known.error().message));
    }
  }
  const Result<json> status = server->get("/v1/status");
  if (const std::string notice = status ? status->value("notice", "") : ""; !notice.empty()) {
    context.output.remark(fmt::format("Note: {}.", notice));
  }
  if (context.output.json()) {
    context.output.print_json({{"version", 1}, {"jobs", *jobs}});
  } else if (jobs->empty()) {
    context.output.remark(
        "No jobs. `carpool submit -- COMMAND` submits one; --all shows the jobs of all users.");
  } else {
    context.output.print(job_table(*jobs, context.output.colour()));
  }
  return {};
}

}  // namespace

CommandSpec queue_command() {
  return make_command(add_queue_options,
                      run_queue,
                      {"carpool queue", "carpool queue --all --state running --json"});
}

}  // namespace carpool::app
