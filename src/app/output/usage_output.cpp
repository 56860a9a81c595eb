#include "app/output/usage_output.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/output.hpp"
#include "app/output/text_table.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

constexpr double kGibHours = 1024.0 * 1024.0 * 1024.0 * 3600.0;

std::string gpu_time(const json& row, const char* key) {
  return serve::show_seconds(row.value(key, 0.0));
}

// "+?": of a part the speed is not known.
std::string delivered_cell(const json& row) {
  if (!row.contains("gpu_delivered_s")) {
    return "-";
  }
  const double unknown_s = row.value("gpu_unknown_s", 0.0);
  if (unknown_s > 0.0 && row.value("gpu_delivered_s", 0.0) == 0.0) {
    return "?";
  }
  return gpu_time(row, "gpu_delivered_s") + (unknown_s > 0.0 ? "+?" : "");
}

// "+?": of a part the energy is not known.
std::string energy_cell(const json& row) {
  constexpr double kKilowattHour = 3.6e6;
  if (!row.contains("energy_j")) {
    return "-";
  }
  return fmt::format("{:.3f}{}",
                     row.at("energy_j").get<double>() / kKilowattHour,
                     row.value("energy_unknown_s", 0.0) > 0.0 ? "+?" : "");
}

std::vector<std::string> amount_cells(const json& row) {
  return {fmt::format("{}", row.value("attempts", std::size_t{0})),
          gpu_time(row, "gpu_held_s"),
          delivered_cell(row),
          row.contains("peak_bytes") ? serve::show_bytes(row.at("peak_bytes").get<std::uint64_t>())
                                     : "-",
          row.contains("reserved_byte_s")
              ? fmt::format("{:.1f}", row.at("reserved_byte_s").get<double>() / kGibHours)
              : "-",
          energy_cell(row)};
}

// `by_job`: JOBID, NAME and USER are in front; else USER and JOBS.
void add_usage_row(TextTable& table, bool by_job, const json& row, const std::string& who) {
  std::vector<std::string> cells;
  if (by_job) {
    const bool job = row.contains("id");
    cells = {job ? fmt::format("{}", row.at("id").get<std::int64_t>()) : "",
             job ? row.value("name", "-") : who,
             row.value("user", "")};
  } else {
    cells = {row.value("user", who), fmt::format("{}", row.value("jobs", std::size_t{0}))};
  }
  for (std::string& cell : amount_cells(row)) {
    cells.push_back(std::move(cell));
  }
  table.add_row(std::move(cells));
}

TextTable empty_table(bool by_job, bool colour) {
  TextTable table(colour);
  if (by_job) {
    table.add_column("JOBID", TextTable::Align::Right);
    table.add_column("NAME", TextTable::Align::Left, true);
  }
  table.add_column("USER", TextTable::Align::Left, true);
  if (!by_job) {
    table.add_column("JOBS", TextTable::Align::Right);
  }
  table.add_column("ATTEMPTS", TextTable::Align::Right);
  table.add_column("GPU TIME", TextTable::Align::Right);
  table.add_column("DELIVERED", TextTable::Align::Right);
  table.add_column("PEAK", TextTable::Align::Right);
  table.add_column("MEM[GiB h]", TextTable::Align::Right);
  table.add_column("ENERGY[kWh]", TextTable::Align::Right);
  return table;
}

}  // namespace

std::string usage_text(const json& usage, bool colour, std::optional<std::size_t> columns) {
  const bool by_job = usage.value("by", "user") == "job";
  TextTable table = empty_table(by_job, colour);
  double unknown_s = 0.0;
  for (const json& row : usage.at("rows")) {
    add_usage_row(table, by_job, row, "-");
    unknown_s += row.value("gpu_unknown_s", 0.0);
  }
  if (usage.contains("left_out")) {
    const json& rest = usage.at("left_out");
    add_usage_row(table, by_job, rest, fmt::format("({} more)", rest.at("rows").dump()));
    unknown_s += rest.value("gpu_unknown_s", 0.0);
  }
  if (usage.contains("others")) {
    const json& others = usage.at("others");
    const auto users = others.value("users", std::size_t{0});
    add_usage_row(
        table, by_job, others, fmt::format("({} other user{})", users, users == 1 ? "" : "s"));
  }
  std::string text = fmt::format("From {} to {}\n",
                                 serve::show_time(usage.value("since_s", 0.0)),
                                 serve::show_time(usage.value("until_s", 0.0)));
  text += table.render(columns);
  if (unknown_s > 0.0) {
    text +=
        fmt::format("?: for {} of GPU time it is not known how fast the jobs ran beside others.\n",
                    serve::show_seconds(unknown_s));
  }
  return text;
}

}  // namespace carpool::app
