#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/inputs/sources.hpp"
#include "dataset/splits.hpp"

namespace carpool::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct DatasetOptions {
  std::optional<std::string> folder;
};

void add_dataset_options(OptionSet& options, DatasetOptions& dataset) {
  options.positional(
      "folder", &dataset.folder, "DIR", "Dataset folder (default: the bundled kace-v100)");
}

struct TableSummary {
  std::string name;
  std::size_t rows = 0;
  std::size_t group_size = 0;
};

// Reads every table of the folder; a broken one is an error.
Result<std::vector<TableSummary>> summarise_tables(const dataset::Dataset& dataset) {
  std::vector<TableSummary> summaries;
  std::vector<std::string> names = dataset::list_group_tables(dataset);
  // Commands read `pairs` by default: it is checked even if it does not look like a table.
  const bool listed = std::find(names.begin(), names.end(), "pairs") != names.end();
  if (!listed && std::filesystem::exists(dataset.folder / "pairs.csv")) {
    names.emplace_back("pairs");
  }
  for (const std::string& name : names) {
    const auto table = dataset::load_group_table(dataset, name);
    if (!table) {
      return tl::unexpected(table.error());
    }
    summaries.push_back({name, table->rows.size(), table->group_size});
  }
  return summaries;
}

// A split file is for one table, or names the tables in a column: it is sound if one of them takes
// it. Otherwise the error is that of the table whose name the file begins with, else of the first.
Result<void> check_splits(const dataset::Dataset& dataset,
                          const fs::path& file,
                          const std::vector<TableSummary>& tables) {
  std::optional<Error> error;
  for (const TableSummary& summary : tables) {
    const auto table = dataset::load_group_table(dataset, summary.name);
    if (!table) {
      return tl::unexpected(table.error());
    }
    const auto splits = dataset::load_splits(file, dataset, *table, {});
    if (splits) {
      return {};
    }
    if (!error || file.filename().string().starts_with(summary.name)) {
      error = splits.error();
    }
  }
  return error ? Result<void>(tl::unexpected(*error)) : Result<void>();
}

// Reads every file of the folder `splits`.
Result<void> check_all_splits(const dataset::Dataset& dataset,
                              const std::vector<TableSummary>& tables) {
  std::error_code missing;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(dataset.folder / "splits", missing)) {
    if (entry.path().extension() == ".csv") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    if (auto checked = check_splits(dataset, file, tables); !checked) {
      return checked;
    }
  }
  return {};
}

std::size_t missing_values(const dataset::Dataset& dataset, const dataset::MetricInfo& metric) {
  return static_cast<std::size_t>(
      std::count_if(dataset.profiles.begin(), dataset.profiles.end(), [&](const Profile& profile) {
        return !profile.metrics.contains(metric.name);
      }));
}

json to_json(const dataset::Dataset& dataset,
             const std::vector<TableSummary>& tables,
             std::size_t limited) {
  json out = {{"folder", dataset.folder.string()},
              {"gpu", dataset.info.gpu},
              {"driver", dataset.info.driver},
              {"throughput_unit", dataset.info.throughput_unit},
              {"provenance", dataset.info.provenance},
              {"limited_runs", limited}};
  for (const Profile& profile : dataset.profiles) {
    out["workloads"].push_back({{"workload", profile.workload},
                                {"model", profile.model},
                                {"task", profile.task},
                                {"batch", or_null(profile.batch)},
                                {"exclusive_thr", profile.exclusive_throughput}});
  }
  out["metrics"] = json::array();
  for (const dataset::MetricInfo& metric : dataset.metrics) {
    out["metrics"].push_back({{"name", metric.name},
                              {"group", metric.group},
                              {"combine", metric.combine == dataset::Combine::Sum ? "sum" : "mean"},
                              {"missing", missing_values(dataset, metric)}});
  }
  out["tables"] = json::array();
  for (const TableSummary& table : tables) {
    out["tables"].push_back(
        {{"name", table.name}, {"rows", table.rows}, {"group_size", table.group_size}});
  }
  return out;
}

void print_workloads(const dataset::Dataset& dataset, const Output& output) {
  TextTable table(output.colour());
  table.add_column("workload", TextTable::Align::Left);
  table.add_column("model", TextTable::Align::Left);
  table.add_column("task", TextTable::Align::Left);
  table.add_column("batch", TextTable::Align::Right);
  table.add_column(fmt::format("solo [{}]", dataset.info.throughput_unit), TextTable::Align::Right);
  for (const Profile& profile : dataset.profiles) {
    table.add_row({profile.workload,
                   profile.model,
                   profile.task,
                   profile.batch ? fmt::format("{:g}", *profile.batch) : "-",
                   number(profile.exclusive_throughput)});
  }
  output.print(table.render());
}

void print_tables(const std::vector<TableSummary>& tables, const Output& output) {
  TextTable table(output.colour());
  table.add_column("table", TextTable::Align::Left);
  table.add_column("members", TextTable::Align::Right);
  table.add_column("rows", TextTable::Align::Right);
  for (const TableSummary& summary : tables) {
    table.add_row({summary.name, std::to_string(summary.group_size), std::to_string(summary.rows)});
  }
  output.print(table.render());
}

Result<void> run_dataset(const DatasetOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  const auto dataset = open_dataset(options.folder, context.config);
  if (!dataset) {
    return tl::unexpected(dataset.error());
  }
  const auto tables = summarise_tables(*dataset);
  if (!tables) {
    return tl::unexpected(tables.error());
  }
  const auto limited = dataset::load_limited_runs(*dataset);
  if (!limited) {
    return tl::unexpected(limited.error());
  }
  if (auto checked = check_all_splits(*dataset, *tables); !checked) {
    return checked;
  }
  if (output.json()) {
    output.print_json(to_json(*dataset, *tables, limited->size()));
    return {};
  }
  output.heading(fmt::format("{}: {} workloads, {} metrics, {}",
                             dataset->folder.string(),
                             dataset->profiles.size(),
                             dataset->metrics.size(),
                             dataset->info.gpu.empty() ? "GPU not named" : dataset->info.gpu));
  print_workloads(*dataset, output);
  output.print("\n");
  print_tables(*tables, output);
  output.print(
      fmt::format("\n{} solo runs under a thread limit; every file is sound\n", limited->size()));
  return {};
}

}  // namespace

CommandSpec dataset_command() {
  return make_command(add_dataset_options, run_dataset, {"carpool dataset my-gpu"});
}

}  // namespace carpool::app
