#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/server/server_client.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct HistoryOptions {
  ServerOptions server;
  bool all = false;
  std::size_t most = 20;
};

void add_history_options(OptionSet& options, HistoryOptions& history) {
  options.flag("-a,--all", history.all, "Show the jobs of all users");
  options.option("-n,--most",
                 &history.most,
                 "N",
                 "Number of jobs to show (default: 20)",
                 {.check = whole_number(1)});
  add_socket(options, history.server);
}

std::string gpus_cell(const json& job) {
  return job.contains("gpus")
             ? fmt::format("{}", fmt::join(job.at("gpus").get<std::vector<unsigned>>(), ","))
             : "-";
}

std::string peak_cell(const json& job) {
  for (const char* key : {"peak_bytes", "failed_peak_bytes"}) {
    if (job.contains(key)) {
      return serve::show_bytes(job.at(key).get<std::uint64_t>());
    }
  }
  return "-";
}

std::string exit_cell(const json& job) {
  if (job.contains("signal")) {
    return fmt::format("signal {}", job.at("signal").get<int>());
  }
  return job.contains("exit_code") ? fmt::format("{}", job.at("exit_code").get<int>()) : "-";
}

std::string history_table(const json& jobs, bool colour) {
  TextTable table(colour);
  table.add_column("JOBID", TextTable::Align::Right);
  table.add_column("NAME", TextTable::Align::Left, true);
  table.add_column("USER", TextTable::Align::Left, true);
  table.add_column("ENDED", TextTable::Align::Left);
  table.add_column("END", TextTable::Align::Left);
  table.add_column("EXIT", TextTable::Align::Left);
  table.add_column("WAITED", TextTable::Align::Right);
  table.add_column("RAN", TextTable::Align::Right);
  table.add_column("GPU", TextTable::Align::Left);
  table.add_column("PEAK", TextTable::Align::Right);
  table.add_column("REASON", TextTable::Align::Left, true);
  for (const json& job : jobs) {
    const double ended = job.at("ended_s").get<double>();
    const double started = job.value("started_s", ended);
    table.add_row({fmt::format("{}", job.at("id").get<std::int64_t>()),
                   first_columns(job.value("name", "-"), 24),
                   job.value("user", ""),
                   serve::show_time(ended),
                   job.value("end", ""),
                   exit_cell(job),
                   serve::show_seconds(started - job.at("submitted_s").get<double>()),
                   serve::show_seconds(ended - started),
                   gpus_cell(job),
                   peak_cell(job),
                   first_columns(job.value("reason", ""), 60)});
  }
  return table.render(terminal_columns());
}

// In pages: the server tells of at most 1000 jobs at once where and how they ended.
Result<json> fetch_history(ServerClient& server, const HistoryOptions& options) {
  constexpr std::size_t kPage = 1000;
  json all = {{"version", 1}, {"jobs", json::array()}};
  std::string before;
  while (true) {
    json& jobs = all.at("jobs");
    const std::size_t most = std::min(options.most - jobs.size(), kPage);
    Result<json> page = server.get(fmt::format(
        "/v1/history?attempts=1&limit={}{}{}", most, options.all ? "&all=1" : "", before));
    if (!page) {
      return page;
    }
    all["mode"] = page->value("mode", "");
    const std::size_t came = page->at("jobs").size();
    for (json& job : page->at("jobs")) {
      jobs.push_back(std::move(job));
    }
    if (came == 0 || jobs.size() >= options.most) {
      return all;
    }
    before = fmt::format("&before={}", jobs.back().at("id").get<std::int64_t>());
  }
}

Result<void> run_history(const HistoryOptions& options, const CommandContext& context) {
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  const Result<json> page = fetch_history(*server, options);
  if (!page) {
    return tl::unexpected(page.error());
  }
  if (context.output.json()) {
    context.output.print_json(*page);
  } else if (page->at("jobs").empty()) {
    context.output.remark("No job has ended yet.");
  } else {
    context.output.print(history_table(page->at("jobs"), context.output.colour()));
  }
  return {};
}

}  // namespace

CommandSpec history_command() {
  return make_command(
      add_history_options, run_history, {"carpool history -n 50", "carpool history --all --json"});
}

}  // namespace carpool::app
