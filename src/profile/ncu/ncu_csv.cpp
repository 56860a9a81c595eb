#include "profile/ncu/ncu_csv.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "dataset/csv.hpp"
#include "profile/ncu/ncu_units.hpp"

namespace carpool::profile {
namespace {

using Field = std::optional<double> NcuLaunch::*;

// A value by its names on both pages. Other sections of the details page repeat names with other
// units.
struct Wanted {
  std::string_view raw;
  std::string_view section;
  std::string_view detail;
  Field field;
};

constexpr std::string_view kSpeedOfLight = "GPU Speed Of Light Throughput";
constexpr std::string_view kLaunch = "Launch Statistics";

constexpr std::array<Wanted, 7> kWanted = {{
    {"gpu__time_duration.sum", kSpeedOfLight, "Duration", &NcuLaunch::seconds},
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed",
     kSpeedOfLight,
     "Compute (SM) Throughput",
     &NcuLaunch::sm_throughput_pct},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed",
     kSpeedOfLight,
     "DRAM Throughput",
     &NcuLaunch::dram_throughput_pct},
    {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
     kSpeedOfLight,
     "Memory Throughput",
     &NcuLaunch::mem_throughput_pct},
    {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "", "", &NcuLaunch::sm_active_pct},
    {"launch__registers_per_thread",
     kLaunch,
     "Registers Per Thread",
     &NcuLaunch::registers_per_thread},
    {"launch__shared_mem_per_block_static",
     kLaunch,
     "Static Shared Memory Per Block",
     &NcuLaunch::static_shared_bytes},
}};

// The table of an export, without ncu's own lines. Errors name the line numbers of the file.
struct Extract {
  std::string text;
  std::vector<std::size_t> lines;  // of the file, for each line of the text
};

Extract extract(std::string_view text) {
  Extract out;
  bool inside = false;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view whole = text.substr(0, end + 1);
    inside = inside || whole.starts_with("\"ID\",") || whole.starts_with("ID,");
    if (inside && !whole.starts_with("==")) {
      out.text += whole;
      out.lines.push_back(line);
    }
    text.remove_prefix(end + 1);
  }
  return out;
}

// "(32, 1, 1)" or "32".
std::optional<std::array<std::uint32_t, 3>> parse_extent(std::string_view text) {
  std::array<std::uint32_t, 3> out{1, 1, 1};
  std::size_t axis = 0;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    if (*at < '0' || *at > '9') {
      ++at;
      continue;
    }
    if (axis == out.size()) {
      return std::nullopt;
    }
    const auto [stopped, code] = std::from_chars(at, text.data() + text.size(), out[axis++]);
    if (code != std::errc()) {
      return std::nullopt;
    }
    at = stopped;
  }
  return axis == 0 ? std::nullopt : std::optional(out);
}

struct Columns {
  std::size_t id = 0;
  std::size_t kernel = 0;
  std::size_t block = 0;
  std::size_t grid = 0;
};

Result<Columns> common_columns(const dataset::CsvTable& table) {
  Columns out;
  for (const auto& [name, place] : {std::pair{"ID", &out.id},
                                    std::pair{"Kernel Name", &out.kernel},
                                    std::pair{"Block Size", &out.block},
                                    std::pair{"Grid Size", &out.grid}}) {
    const auto column = table.require(name);
    if (!column) {
      return tl::unexpected(column.error());
    }
    *place = *column;
  }
  return out;
}

Result<NcuLaunch> begin_launch(const dataset::CsvTable& table,
                               const dataset::CsvRow& row,
                               const Columns& columns) {
  NcuLaunch launch;
  launch.kernel = row.fields[columns.kernel];
  for (const auto& [column, extent] :
       {std::pair{columns.block, &launch.block}, std::pair{columns.grid, &launch.grid}}) {
    const auto parsed = parse_extent(row.fields[column]);
    if (!parsed) {
      return table.reject(
          row,
          column,
          fmt::format("{} is not a size such as (32, 1, 1)", dataset::quote(row.fields[column])));
    }
    *extent = *parsed;
  }
  return launch;
}

// The value in base units, or an error that names the cell.
Result<double> value_of(const dataset::CsvTable& table,
                        const dataset::CsvRow& row,
                        std::size_t column,
                        const std::string& unit) {
  const auto number = parse_ncu_number(row.fields[column]);
  if (!number) {
    return table.reject(
        row, column, fmt::format("{} is not a number", dataset::quote(row.fields[column])));
  }
  const auto scale = ncu_unit_scale(unit);
  if (!scale) {
    return table.reject(
        row,
        column,
        fmt::format("unknown unit {}; export with --print-units base", dataset::quote(unit)));
  }
  return *number * *scale;
}

// Header, a row of units, then one row per launch.
Result<std::vector<NcuLaunch>> read_raw(const dataset::CsvTable& table, const Columns& columns) {
  std::vector<NcuLaunch> out;
  if (table.rows.empty()) {
    return invalid_input(
        fmt::format("{}: the header is not followed by a row of units", table.file));
  }
  const dataset::CsvRow& units = table.rows.front();
  if (!units.fields[columns.id].empty()) {
    return table.reject(units, columns.id, "expected the row of units of `--page raw`");
  }
  for (const dataset::CsvRow& row : std::span(table.rows).subspan(1)) {
    auto launch = begin_launch(table, row, columns);
    if (!launch) {
      return tl::unexpected(std::move(launch.error()));
    }
    for (const Wanted& wanted : kWanted) {
      const auto column = table.find(wanted.raw);
      if (!column || row.fields[*column].empty()) {
        continue;
      }
      const auto value = value_of(table, row, *column, units.fields[*column]);
      if (!value) {
        return tl::unexpected(value.error());
      }
      (*launch).*(wanted.field) = *value;
    }
    out.push_back(std::move(*launch));
  }
  return out;
}

const Wanted* wanted_detail(const std::string& section, const std::string& name) {
  const auto* const found = std::find_if(kWanted.begin(), kWanted.end(), [&](const Wanted& wanted) {
    return !wanted.detail.empty() && wanted.section == section && wanted.detail == name;
  });
  return found == kWanted.end() ? nullptr : found;
}

// One row per value; the ID identifies the launch.
Result<std::vector<NcuLaunch>> read_details(const dataset::CsvTable& table,
                                            const Columns& columns,
                                            std::size_t name) {
  const auto section = table.require("Section Name");
  const auto unit = table.require("Metric Unit");
  const auto value_column = table.require("Metric Value");
  for (const auto* column : {&section, &unit, &value_column}) {
    if (!*column) {
      return tl::unexpected(column->error());
    }
  }
  std::vector<NcuLaunch> out;
  std::map<std::string, std::size_t> place;
  for (const dataset::CsvRow& row : table.rows) {
    const auto [known, added] = place.emplace(row.fields[columns.id], out.size());
    if (added) {
      auto launch = begin_launch(table, row, columns);
      if (!launch) {
        return tl::unexpected(std::move(launch.error()));
      }
      out.push_back(std::move(*launch));
    }
    const Wanted* wanted = wanted_detail(row.fields[*section], row.fields[name]);
    if (wanted == nullptr) {
      continue;
    }
    const auto value = value_of(table, row, *value_column, row.fields[*unit]);
    if (!value) {
      return tl::unexpected(value.error());
    }
    out[known->second].*(wanted->field) = *value;
  }
  return out;
}

}  // namespace

Result<std::vector<NcuLaunch>> parse_ncu_csv(std::string_view text, const std::string& file) {
  const Extract inner = extract(text);
  if (inner.text.empty()) {
    return invalid_input(fmt::format(
        "{}: no table of Nsight Compute (its header starts with \"ID\"); export one with `ncu "
        "--csv --page raw`",
        file));
  }
  auto table = dataset::parse_csv(inner.text, file);
  if (!table) {
    return tl::unexpected(table.error());
  }
  for (dataset::CsvRow& row : table->rows) {
    row.line = row.line <= inner.lines.size() ? inner.lines[row.line - 1] : row.line;
  }
  const auto columns = common_columns(*table);
  if (!columns) {
    return tl::unexpected(columns.error());
  }
  const auto name = table->find("Metric Name");
  return name ? read_details(*table, *columns, *name) : read_raw(*table, *columns);
}

}  // namespace carpool::profile
