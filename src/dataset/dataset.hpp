// A dataset folder: profiles of workloads and measured groups (docs/datasets.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/group.hpp"
#include "core/profile.hpp"

namespace carpool::dataset {

// How the published KACE procedure combines a metric over the members of a group.
enum class Combine { Sum, Mean };

struct MetricInfo {
  std::string name;  // column of profiles.csv
  Combine combine = Combine::Sum;
  std::string group;  // "kernel", "system", "xu", …; metrics of group "xu" are not default features
};

struct DatasetInfo {
  std::string gpu;
  std::string driver;
  std::string throughput_unit = "units/s";
  std::string provenance;
};

struct Dataset {
  std::filesystem::path folder;
  DatasetInfo info;
  std::vector<MetricInfo> metrics;  // the features, in the order of profiles.csv
  std::vector<Profile> profiles;

  // Index into `profiles`; empty: unknown.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view workload) const;

  // The message for a name that `find` does not know, with the nearest known name.
  [[nodiscard]] std::string unknown_workload(std::string_view name) const;
};

// One measured group.
struct GroupRow {
  std::int64_t id = 0;             // column `id`, or the row number from 0
  Group members;                   // indices into Dataset::profiles
  std::vector<double> throughput;  // units/s of each member, same order
  // Column `campaign`, may be empty: rows of different campaigns may come from different software
  // versions.
  std::string campaign{};

  [[nodiscard]] double sum() const;
  [[nodiscard]] bool contains(std::size_t profile) const;
};

struct GroupTable {
  std::string name;            // file name without .csv
  std::size_t group_size = 0;  // members of every row
  std::vector<GroupRow> rows;
};

// A solo run under a thread limit (exclusive_mps.csv).
struct LimitedRun {
  std::size_t profile = 0;
  double thread_limit = kAllThreads;
  double throughput = 0.0;
};

// Reads dataset.toml (optional) and profiles.csv. Errors name file, line and column.
[[nodiscard]] Result<Dataset> load_dataset(const std::filesystem::path& folder);

// Reads FOLDER/NAME.csv; every member must be a workload of the dataset.
[[nodiscard]] Result<GroupTable> load_group_table(const Dataset& dataset, std::string_view name);

// Reads FOLDER/exclusive_mps.csv; an absent file is an empty list. Workloads without a profile are
// skipped.
[[nodiscard]] Result<std::vector<LimitedRun>> load_limited_runs(const Dataset& dataset);

// The group tables that the folder holds, by name, sorted.
[[nodiscard]] std::vector<std::string> list_group_tables(const Dataset& dataset);

// Hash over profiles, metrics and the rows, with which a model card identifies its training data.
[[nodiscard]] std::string fingerprint(const Dataset& dataset, const std::vector<GroupRow>& rows);

}  // namespace carpool::dataset
