#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/job_selection.hpp"
#include "app/server/job_action.hpp"
#include "app/server/server_client.hpp"
#include "base/clock.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct UpdateOptions {
  ServerOptions server;
  JobSelection jobs;
  std::optional<std::string> time;
  std::optional<std::string> mem;
  std::optional<int> priority;
  std::optional<std::string> job_class;
  std::optional<std::string> begin;
};

void add_update_options(OptionSet& options, UpdateOptions& update) {
  add_job_selection(options, update.jobs, "that have not ended");
  options.option("--time",
                 &update.time,
                 "TIME",
                 "Time limit: 90s, 15m, 2h, 1-00:00:00; also of a running job",
                 {.check = time_with_unit()});
  options.option("--mem",
                 &update.mem,
                 "SIZE",
                 "GPU memory that the job needs on each GPU: 12G, 800M",
                 {.check = memory_size()});
  options.option("--priority", &update.priority, "P", "Jobs with a higher priority start first");
  options.option(
      "--class",
      &update.job_class,
      "CLASS",
      "slo, normal or best-effort; another class than slo drops the SLO of the job, which "
      "cannot be set again",
      {.examples = {"slo", "normal", "best-effort"}});
  options.option("--begin",
                 &update.begin,
                 "WHEN",
                 "Do not start the job before: now, now+2h, 22:00, 2026-11-17T08:00",
                 {.check = begin_time()});
  add_socket(options, update.server);
}

Result<json> change_of(const UpdateOptions& options) {
  json change = json::object();
  if (options.time) {
    const Result<double> seconds = serve::parse_seconds(*options.time);
    if (!seconds) {
      return tl::unexpected(seconds.error());
    }
    change["time_s"] = *seconds;
  }
  if (options.mem) {
    change["mem"] = *options.mem;
  }
  if (options.priority) {
    change["priority"] = *options.priority;
  }
  if (options.job_class) {
    change["class"] = *options.job_class;
  }
  if (options.begin) {
    const Result<std::string> begin = serve::begin_in_utc(*options.begin, epoch_seconds());
    if (!begin) {
      return tl::unexpected(begin.error());
    }
    change["begin"] = *begin;
  }
  if (change.empty()) {
    return invalid_input("nothing to change: give --time, --mem, --priority, --class or --begin");
  }
  return change;
}

std::string updated_text(const json& answers, const std::vector<std::int64_t>& jobs) {
  std::string text = fmt::format("Updated {}.", jobs_text(jobs));
  for (const json& answer : answers) {
    if (const std::string remark = answer.value("remark", ""); !remark.empty()) {
      text += fmt::format("\nJob {}: {}", answer.value("id", std::int64_t{0}), remark);
    }
  }
  return text;
}

Result<void> run_update(const UpdateOptions& options, const CommandContext& context) {
  const Result<json> change = change_of(options);
  const Result<JobChoice> choice = read_job_selection(options.jobs);
  if (!change || !choice) {
    return tl::unexpected(change ? choice.error() : change.error());
  }
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  return act_on_jobs(*server,
                     *choice,
                     {.ask =
                          [&](ServerClient& client, std::int64_t job) {
                            return client.post(fmt::format("/v1/jobs/{}/update", job), *change);
                          },
                      .text = updated_text,
                      .remarks = true},
                     context);
}

}  // namespace

CommandSpec update_command() {
  return make_command(
      add_update_options,
      run_update,
      {"carpool update --time 4h 17", "carpool update --mem 20G --priority -10 3-12"},
      "Of a running job only the time limit can change.");
}

}  // namespace carpool::app
