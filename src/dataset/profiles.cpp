#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "dataset/csv.hpp"
#include "dataset/parse.hpp"

namespace carpool::dataset {
namespace {

constexpr std::string_view kWorkload = "workload";
constexpr std::string_view kExclusive = "exclusive_thr";

struct MetricColumn {
  MetricInfo metric;
  std::size_t column = 0;
};

// Columns that identify the row and do not describe the behaviour of the workload.
bool is_bookkeeping(std::string_view column) {
  return column == "batch" || column == "id" || column == kWorkload || column == kExclusive ||
         column == "model" || column == "task" || column.starts_with("in_") ||
         column.starts_with("is_");
}

// A column of numbers and empty cells with at least one number. Where most cells are numbers,
// another cell is an error: treating the column as text would hide it.
Result<bool> is_measured_number(const CsvTable& table, std::size_t column) {
  std::size_t numbers = 0;
  std::vector<const CsvRow*> texts;
  for (const CsvRow& row : table.rows) {
    if (looks_numeric(row.fields[column])) {
      ++numbers;
    } else if (!row.fields[column].empty()) {
      texts.push_back(&row);
    }
  }
  if (numbers > texts.size() && !texts.empty()) {
    return table.reject(*texts.front(),
                        column,
                        fmt::format("{} is not a number, unlike the other cells: leave it empty "
                                    "if nothing was measured, or declare the metrics in "
                                    "dataset.toml",
                                    quote(texts.front()->fields[column])));
  }
  return numbers > 0 && texts.empty();
}

Result<std::vector<MetricColumn>> undeclared_metrics(const CsvTable& table) {
  std::vector<MetricColumn> metrics;
  for (std::size_t column = 0; column < table.header.size(); ++column) {
    const std::string& name = table.header[column];
    if (is_bookkeeping(name)) {
      continue;
    }
    const auto measured = is_measured_number(table, column);
    if (!measured) {
      return tl::unexpected(measured.error());
    }
    if (*measured) {
      metrics.push_back({.metric = {.name = name, .combine = default_combine(name), .group = {}},
                         .column = column});
    }
  }
  return metrics;
}

Result<std::vector<MetricColumn>> find_metrics(const CsvTable& table,
                                               const DatasetSettings& settings) {
  if (!settings.metrics) {
    return undeclared_metrics(table);
  }
  std::vector<MetricColumn> metrics;
  for (const DeclaredMetric& declared : *settings.metrics) {
    const auto reject = [&](std::string_view why) {
      return invalid_input(fmt::format(
          "{}:{}: metric {} {}", settings.file, declared.line, quote(declared.metric.name), why));
    };
    if (declared.metric.name == kExclusive) {
      return reject("is not a metric: every model receives the solo throughput anyway");
    }
    const auto column = table.find(declared.metric.name);
    if (!column) {
      return reject(fmt::format("is not a column of {}", table.file));
    }
    metrics.push_back({.metric = declared.metric, .column = *column});
  }
  std::sort(metrics.begin(), metrics.end(), [](const MetricColumn& a, const MetricColumn& b) {
    return a.column < b.column;
  });
  return metrics;
}

class ProfileReader {
 public:
  ProfileReader(const CsvTable& table, std::size_t workload, std::size_t exclusive)
      : table_(table),
        workload_(workload),
        exclusive_(exclusive),
        model_(table.find("model")),
        task_(table.find("task")),
        batch_(table.find("batch")) {}

  [[nodiscard]] Result<Profile> read(const CsvRow& row, const std::vector<MetricColumn>& metrics) {
    Profile profile;
    profile.workload = row.fields[workload_];
    if (auto checked = check_name(row); !checked) {
      return tl::unexpected(std::move(checked.error()));
    }
    auto exclusive = table_.number(row, exclusive_, "the solo throughput in units/s");
    if (!exclusive) {
      return tl::unexpected(std::move(exclusive.error()));
    }
    if (*exclusive <= 0.0) {
      return table_.reject(row,
                           exclusive_,
                           fmt::format("{} is not above 0; expected the solo throughput in units/s",
                                       quote(row.fields[exclusive_])));
    }
    profile.exclusive_throughput = *exclusive;
    profile.model = model_ ? row.fields[*model_] : "";
    profile.task = task_ ? row.fields[*task_] : "";
    if (batch_ && !row.fields[*batch_].empty()) {
      auto batch = table_.number(row, *batch_, "samples per step");
      if (!batch) {
        return tl::unexpected(std::move(batch.error()));
      }
      profile.batch = *batch;
    }
    return read_metrics(row, metrics, std::move(profile));
  }

 private:
  // A name identifies the workload in all tables: one line, unique.
  [[nodiscard]] Result<void> check_name(const CsvRow& row) {
    const std::string& name = row.fields[workload_];
    if (name.empty() || name.find_first_of("\t\r\n") != std::string::npos) {
      return table_.reject(
          row, workload_, fmt::format("{} is not a name; expected one line of text", quote(name)));
    }
    const auto [first, added] = line_of_.emplace(name, row.line);
    if (!added) {
      return table_.reject(
          row,
          workload_,
          fmt::format("{} is already described on line {}", quote(name), first->second));
    }
    return {};
  }

  [[nodiscard]] Result<Profile> read_metrics(const CsvRow& row,
                                             const std::vector<MetricColumn>& metrics,
                                             Profile profile) const {
    for (const MetricColumn& metric : metrics) {
      if (row.fields[metric.column].empty()) {
        continue;
      }
      auto value = table_.number(row, metric.column, "a metric, or nothing where not measured");
      if (!value) {
        return tl::unexpected(std::move(value.error()));
      }
      profile.metrics.emplace(metric.metric.name, *value);
    }
    return profile;
  }

  const CsvTable& table_;
  std::size_t workload_;
  std::size_t exclusive_;
  std::optional<std::size_t> model_;
  std::optional<std::size_t> task_;
  std::optional<std::size_t> batch_;
  std::map<std::string, std::size_t, std::less<>> line_of_;
};

}  // namespace

Result<Dataset> parse_profiles(std::string_view text,
                               std::string file,
                               const DatasetSettings& settings) {
  const auto table = parse_csv(text, std::move(file));
  if (!table) {
    return tl::unexpected(table.error());
  }
  const auto workload = table->require(kWorkload);
  if (!workload) {
    return tl::unexpected(workload.error());
  }
  const auto exclusive = table->require(kExclusive);
  if (!exclusive) {
    return tl::unexpected(exclusive.error());
  }
  if (table->rows.empty()) {
    return invalid_input(
        fmt::format("{}:1: no rows after the header; expected one per workload", table->file));
  }
  const auto metrics = find_metrics(*table, settings);
  if (!metrics) {
    return tl::unexpected(metrics.error());
  }
  Dataset dataset;
  dataset.info = settings.info;
  for (const MetricColumn& metric : *metrics) {
    dataset.metrics.push_back(metric.metric);
  }
  ProfileReader reader(*table, *workload, *exclusive);
  for (const CsvRow& row : table->rows) {
    auto profile = reader.read(row, *metrics);
    if (!profile) {
      return tl::unexpected(std::move(profile.error()));
    }
    dataset.profiles.push_back(std::move(*profile));
  }
  return dataset;
}

}  // namespace carpool::dataset
