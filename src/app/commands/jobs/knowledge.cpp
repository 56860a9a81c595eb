#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/server/server_client.hpp"
#include "base/text/memory_size.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct KnowledgeOptions {
  ServerOptions server;
  bool all = false;
};

void add_knowledge_options(OptionSet& options, KnowledgeOptions& knowledge) {
  options.flag("-a,--all", knowledge.all, "Show the workloads of all users (operators only)");
  add_socket(options, knowledge.server);
}

std::string row_percent(const json& row, const char* key) {
  return fmt::format("{:.0f}", 100.0 * row.value(key, 0.0));
}

std::string activity_text(const json& row) {
  if (row.value("measured_s", 0.0) <= 0.0) {
    return fmt::format("{} % {}",
                       row_percent(row, "sm_active"),
                       row.contains("kernel_window") ? "by kernels" : "assumed");
  }
  return fmt::format("{} % ({}–{})",
                     row_percent(row, "sm_active"),
                     row_percent(row, "sm_active_low"),
                     row_percent(row, "sm_active_high"));
}

std::string window_text(const json& row) {
  return row.contains("kernel_window")
             ? fmt::format("{} %", row_percent(row.at("kernel_window"), "sm_active"))
             : "-";
}

std::string speed_text(const json& row) {
  return row.contains("solo_rate") ? fmt::format("{} {}/s",
                                                 serve::show_rate(row.value("solo_rate", 0.0)),
                                                 row.value("solo_rate_unit", ""))
                                   : "-";
}

std::string knowledge_table(const json& rows, bool colour) {
  TextTable table(colour);
  table.add_column("WORKLOAD", TextTable::Align::Left);
  table.add_column("SM ACTIVE", TextTable::Align::Left);
  table.add_column("KERNELS", TextTable::Align::Right);
  table.add_column("SOLO SPEED", TextTable::Align::Right);
  table.add_column("WATCHED", TextTable::Align::Right);
  table.add_column("PEAK", TextTable::Align::Right);
  table.add_column("RUN TIME", TextTable::Align::Right);
  table.add_column("RUNS", TextTable::Align::Right);
  for (const json& row : rows) {
    table.add_row(
        {first_columns(row.value("workload", ""), 60),
         activity_text(row),
         window_text(row),
         speed_text(row),
         serve::show_seconds(row.value("measured_s", 0.0)),
         row.contains("peak_bytes") ? gib_text(row.at("peak_bytes").get<std::uint64_t>()) : "-",
         row.contains("runtime_s") ? serve::show_seconds(row.value("runtime_s", 0.0)) : "-",
         fmt::format("{}", row.value("runs", std::size_t{0}))});
  }
  return table.render();
}

// "27 of 30 measured speeds lay inside the 90 % interval predicted."
std::string inside_text(const json& coverage, std::string_view what) {
  return fmt::format("{} of {} measured {} lay inside the 90 % interval predicted.",
                     coverage.value("inside", std::size_t{0}),
                     coverage.value("all", std::size_t{0}),
                     what);
}

std::string coverage_text(const json& page) {
  const json speeds = page.value("coverage", json::object());
  const json latencies = page.value("latency_coverage", json::object());
  std::string text = speeds.value("all", std::size_t{0}) == 0
                         ? std::string("No prediction could be compared with a measured speed yet.")
                         : inside_text(speeds, "speeds");
  if (latencies.value("all", std::size_t{0}) > 0) {
    text += " " + inside_text(latencies, "latencies");
  }
  return text;
}

Result<void> run_knowledge(const KnowledgeOptions& options, const CommandContext& context) {
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  const Result<json> page = server->get(options.all ? "/v1/knowledge?all=1" : "/v1/knowledge");
  if (!page) {
    return tl::unexpected(page.error());
  }
  if (context.output.json()) {
    context.output.print_json(*page);
  } else if (page->at("workloads").empty()) {
    context.output.remark("The server has not seen a workload yet.");
  } else {
    context.output.print(knowledge_table(page->at("workloads"), context.output.colour()));
    context.output.remark(coverage_text(*page));
  }
  return {};
}

}  // namespace

CommandSpec knowledge_command() {
  return make_command(add_knowledge_options,
                      run_knowledge,
                      {"carpool knowledge", "carpool knowledge --all --json"});
}

}  // namespace carpool::app
