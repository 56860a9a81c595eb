#include "knowledge/pairs/pair_table_reader.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "dataset/csv.hpp"
#include "knowledge/pairs/pair_table.hpp"

namespace carpool::knowledge {
namespace {

// A mean over fewer pairs depends more on the partners than on the workload.
constexpr std::int64_t kFewestPairs = 9;
constexpr double kLeastRatio = 0.5;
constexpr double kMostRatio = 2.0;

struct Columns {
  const dataset::CsvTable& table;
  std::map<std::string, std::size_t, std::less<>> at{};

  [[nodiscard]] static Result<Columns> of(const dataset::CsvTable& table,
                                          const std::vector<std::string>& names) {
    Columns columns{.table = table};
    for (const std::string& name : names) {
      const auto found = table.require(name);
      if (!found) {
        return tl::unexpected(found.error());
      }
      columns.at.emplace(name, *found);
    }
    return columns;
  }
  [[nodiscard]] const std::string& text(const dataset::CsvRow& row, std::string_view name) const {
    return row.fields[at.find(name)->second];
  }
  [[nodiscard]] Result<double> positive(const dataset::CsvRow& row, std::string_view name) const {
    const std::size_t column = at.find(name)->second;
    auto value = table.number(row, column, "a number above 0");
    if (value && *value <= 0.0) {
      return table.reject(row, column, "must be above 0");
    }
    return value;
  }
};

Result<void> read_workloads(const std::filesystem::path& folder, PairFiles& files) {
  const auto facts = dataset::read_csv(folder / "aegis_workloads.csv");
  if (!facts) {
    return tl::unexpected(facts.error());
  }
  const auto names = dataset::read_csv(folder / "aegis_estimates.csv");
  if (!names) {
    return tl::unexpected(names.error());
  }
  const auto aliases = Columns::of(*names, {"workload", "task", "family"});
  const auto columns = Columns::of(*facts, {"workload", "smact_mean"});
  if (!aliases || !columns) {
    return tl::unexpected(aliases ? columns.error() : aliases.error());
  }
  std::map<std::string, const dataset::CsvRow*> by_name;
  for (const dataset::CsvRow& row : names->rows) {
    by_name.emplace(aliases->text(row, "workload"), &row);
  }
  for (const dataset::CsvRow& row : facts->rows) {
    const std::string& name = columns->text(row, "workload");
    const auto activity = columns->positive(row, "smact_mean");
    if (!activity) {
      return tl::unexpected(activity.error());
    }
    PairFiles::Known known{.names = {name, pair_name(name)}, .sm_active = *activity};
    if (const auto found = by_name.find(name); found != by_name.end()) {
      known.family = aliases->text(*found->second, "family");
      if (const std::string& task = aliases->text(*found->second, "task"); !task.empty()) {
        known.names.push_back(task);
      }
    }
    files.activity.insert_or_assign(pair_name(name), *activity);
    files.family.insert_or_assign(pair_name(name), known.family);
    files.workloads.push_back(std::move(known));
  }
  return {};
}

std::size_t index_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) {
    return static_cast<std::size_t>(found - names.begin());
  }
  names.push_back(name);
  return names.size() - 1;
}

Result<void> read_pairs(const std::filesystem::path& folder, PairFiles& files) {
  const auto table = dataset::read_csv(folder / "aegis_pairs_a100.csv");
  if (!table) {
    return tl::unexpected(table.error());
  }
  const auto columns =
      Columns::of(*table, {"a", "b", "solo_a_s", "solo_b_s", "pair_a_s", "pair_b_s"});
  if (!columns) {
    return tl::unexpected(columns.error());
  }
  for (const dataset::CsvRow& row : table->rows) {
    PairTimes times;
    for (const auto& [name, value] : {std::pair("solo_a_s", &times.solo_a_s),
                                      std::pair("solo_b_s", &times.solo_b_s),
                                      std::pair("pair_a_s", &times.beside_a_s),
                                      std::pair("pair_b_s", &times.beside_b_s)}) {
      const auto read = columns->positive(row, name);
      if (!read) {
        return tl::unexpected(read.error());
      }
      *value = *read;
    }
    const std::string a = pair_name(columns->text(row, "a"));
    const std::string b = pair_name(columns->text(row, "b"));
    for (const std::string& name : {a, b}) {
      if (!files.activity.contains(name)) {
        return invalid_input(fmt::format(
            "{}:{}: \"{}\" is not in aegis_workloads.csv", table->file, row.line, name));
      }
    }
    const PairCosts costs = costs_while_both_ran(times);
    const std::size_t first = index_of(files.measured, a);
    const std::size_t second = index_of(files.measured, b);
    files.costs.push_back({.slowed = first, .by = second, .cost = costs.a});
    files.costs.push_back({.slowed = second, .by = first, .cost = costs.b});
  }
  return {};
}

Result<void> read_mean_speeds(const std::filesystem::path& folder, PairFiles& files) {
  const auto table = dataset::read_csv(folder / "aegis_sharing_speed.csv");
  if (!table) {
    return tl::unexpected(table.error());
  }
  const auto columns = Columns::of(*table, {"workload", "mean_norm_speed", "n_pairs"});
  if (!columns) {
    return tl::unexpected(columns.error());
  }
  for (const dataset::CsvRow& row : table->rows) {
    const auto speed = columns->positive(row, "mean_norm_speed");
    const auto pairs = columns->positive(row, "n_pairs");
    if (!speed || !pairs) {
      return tl::unexpected(speed ? pairs.error() : speed.error());
    }
    if (*pairs >= static_cast<double>(kFewestPairs) && *speed < 1.0) {
      files.mean_speed.insert_or_assign(pair_name(columns->text(row, "workload")), *speed);
    }
  }
  return {};
}

}  // namespace

double PairFiles::activity_of(const std::string& measured_name) const {
  return activity.at(measured_name);
}

std::optional<PairFiles::Kin> PairFiles::kin_of(const Known& workload) const {
  const std::string own = pair_name(workload.names.front());
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (measured[i] == own) {
      return Kin{.index = i, .same = true};
    }
  }
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (workload.family.empty() || family.at(measured[i]) != workload.family) {
      continue;
    }
    Kin kin{.index = i};
    const auto mine = mean_speed.find(own);
    const auto theirs = mean_speed.find(measured[i]);
    if (mine != mean_speed.end() && theirs != mean_speed.end()) {
      kin.sensitivity_ratio = std::clamp(
          (1.0 / mine->second - 1.0) / (1.0 / theirs->second - 1.0), kLeastRatio, kMostRatio);
    }
    return kin;
  }
  return std::nullopt;
}

Result<PairFiles> read_pair_files(const std::filesystem::path& folder) {
  PairFiles files;
  for (const auto& read : {read_workloads, read_pairs, read_mean_speeds}) {
    if (auto done = read(folder, files); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (files.costs.empty()) {
    return invalid_input(fmt::format("{}: aegis_pairs_a100.csv has no rows", folder.string()));
  }
  return files;
}

}  // namespace carpool::knowledge
