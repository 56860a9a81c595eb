#include "app/inputs/sources.hpp"

#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/progress/busy_line.hpp"
#include "model/model_file.hpp"
#include "model/registry.hpp"

namespace carpool::app {
namespace {

namespace fs = std::filesystem;

// The table of groups measured under thread limits.
constexpr std::string_view kPartitionTable = "partitions";

bool has_limits(const dataset::GroupRow& row) {
  for (const GroupMember& member : row.members) {
    if (member.thread_limit < kAllThreads) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> default_tables(const dataset::Dataset& dataset) {
  std::vector<std::string> tables = {"pairs"};
  for (const std::string& name : dataset::list_group_tables(dataset)) {
    if (name == kPartitionTable) {
      tables.push_back(name);
    }
  }
  return tables;
}

}  // namespace

// Beside the program in an installed bundle, or in the source tree it was built in.
Result<fs::path> bundled_folder(std::string_view name) {
  std::error_code ignored;  // an unreadable folder counts as missing
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path folder = program.parent_path();
  for (const char* place : {"../share/carpool/data", "../../../data"}) {
    fs::path candidate = (folder / place / name).lexically_normal();
    if (fs::is_directory(candidate, ignored)) {
      return candidate;
    }
  }
  return fail(ErrorCode::NotFound,
              fmt::format("bundled data \"{}\" not found beside {}: name a folder with --data DIR",
                          name,
                          program.string()));
}

Result<dataset::Dataset> open_dataset(const std::optional<std::string>& data,
                                      const Config& config) {
  if (data) {
    return dataset::load_dataset(*data);
  }
  if (config.data) {
    return dataset::load_dataset(*config.data);
  }
  const auto bundled = bundled_folder("kace-v100");
  if (!bundled) {
    return tl::unexpected(bundled.error());
  }
  return dataset::load_dataset(*bundled);
}

Result<model::TrainingSet> gather_training_set(const dataset::Dataset& dataset,
                                               const ModelOptions& options) {
  model::TrainingSet training;
  training.dataset = &dataset;
  training.features = options.features;
  training.seed = options.seed;
  const auto& names = options.tables.empty() ? default_tables(dataset) : options.tables;
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
    return invalid_input("--tables names a table twice: its rows would be counted twice");
  }
  for (const std::string& name : names) {
    auto table = dataset::load_group_table(dataset, name);
    if (!table) {
      return tl::unexpected(table.error());
    }
    // Rows of 100/100 in the table of partitions come from the campaign with thread limits.
    const bool partitions = name == kPartitionTable;
    for (dataset::GroupRow& row : table->rows) {
      auto& list = partitions || has_limits(row) ? training.partitions : training.rows;
      list.push_back(std::move(row));
    }
  }
  auto limited = dataset::load_limited_runs(dataset);
  if (!limited) {
    return tl::unexpected(limited.error());
  }
  training.limited_runs = std::move(*limited);
  training.fit_rows = training.rows.size();
  if (training.rows.empty()) {
    return invalid_input(
        "no training rows without thread limits: name another table with --tables");
  }
  return training;
}

Result<std::unique_ptr<model::ThroughputModel>> obtain_model(const ModelOptions& options,
                                                             const dataset::Dataset& dataset,
                                                             const Config& config,
                                                             Progress::Show show) {
  if (options.model_file) {
    if (options.model) {
      return invalid_input("--model-file and --model cannot be combined: the file states its kind");
    }
    const ModelOptions defaults;
    if (!options.tables.empty() || options.features != defaults.features ||
        options.seed != defaults.seed) {
      return invalid_input(
          "--model-file cannot be combined with --tables, --features or --seed: its model is "
          "trained already");
    }
    return model::load_model(*options.model_file);
  }
  const std::string name =
      options.model.value_or(config.model.value_or(std::string(model::kDefaultModel)));
  const auto kind = model::find_model_kind(name);
  if (!kind) {
    return tl::unexpected(kind.error());
  }
  const auto training = gather_training_set(dataset, options);
  if (!training) {
    return tl::unexpected(training.error());
  }
  const BusyLine busy(fmt::format("training {} on {} rows", name, training->rows.size()), show);
  return (*kind)->train(*training);
}

Result<std::size_t> find_workload(const dataset::Dataset& dataset, const std::string& name) {
  if (const auto index = dataset.find(name)) {
    return *index;
  }
  return fail(ErrorCode::NotFound, dataset.unknown_workload(name));
}

Result<std::vector<std::size_t>> find_workloads(const dataset::Dataset& dataset,
                                                const std::vector<std::string>& names) {
  std::vector<std::size_t> found;
  for (const std::string& name : names) {
    const auto index = find_workload(dataset, name);
    if (!index) {
      return tl::unexpected(index.error());
    }
    found.push_back(*index);
  }
  return found;
}

}  // namespace carpool::app
