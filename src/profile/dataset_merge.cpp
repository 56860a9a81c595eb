#include "profile/dataset_merge.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "base/text/names.hpp"
#include "dataset/csv.hpp"
#include "dataset/parse.hpp"

namespace carpool::profile {
namespace {

constexpr const char* kProfiles = "profiles.csv";
constexpr const char* kSettings = "dataset.toml";

std::string field_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string out = "\"";
  for (const char letter : text) {
    out += letter == '"' ? "\"\"" : std::string(1, letter);
  }
  return out + '"';
}

std::string line_text(const std::vector<std::string>& fields) {
  std::string out;
  for (const std::string& field : fields) {
    out +=
        fmt::format("{}{}", out.empty() && &field == &fields.front() ? "" : ",", field_text(field));
  }
  return out + '\n';
}

// Metrics that at least one profile has, in the order of known_metrics().
std::vector<const KnownMetric*> metrics_in(std::span<const WorkloadProfile> profiles) {
  std::vector<const KnownMetric*> out;
  for (const KnownMetric& metric : known_metrics()) {
    if (std::any_of(profiles.begin(), profiles.end(), [&](const WorkloadProfile& profile) {
          return profile.metrics.contains(metric.name);
        })) {
      out.push_back(&metric);
    }
  }
  return out;
}

std::vector<std::string> add_columns(dataset::CsvTable& table,
                                     const std::vector<const KnownMetric*>& metrics) {
  std::vector<std::string> added;
  for (const KnownMetric* metric : metrics) {
    if (!table.find(metric->name)) {
      added.emplace_back(metric->name);
      table.header.emplace_back(metric->name);
      for (dataset::CsvRow& row : table.rows) {
        row.fields.emplace_back();
      }
    }
  }
  return added;
}

Result<dataset::CsvRow*> row_of(dataset::CsvTable& table,
                                std::size_t column,
                                const std::string& workload) {
  std::vector<std::string_view> names;
  for (dataset::CsvRow& row : table.rows) {
    if (row.fields[column] == workload) {
      return &row;
    }
    names.emplace_back(row.fields[column]);
  }
  return invalid_input(fmt::format("{1} has no workload \"{0}\" for this profile{2}",
                                   workload,
                                   table.file,
                                   suggestion(workload, names)));
}

Result<std::size_t> fill(dataset::CsvTable& table,
                         std::span<const WorkloadProfile> profiles,
                         bool replace) {
  const auto workload = table.require("workload");
  if (!workload) {
    return tl::unexpected(workload.error());
  }
  std::size_t filled = 0;
  for (const WorkloadProfile& profile : profiles) {
    const auto row = row_of(table, *workload, profile.workload);
    if (!row) {
      return tl::unexpected(row.error());
    }
    for (const auto& [name, value] : profile.metrics) {
      const auto column = find_metric(name) == nullptr ? std::nullopt : table.find(name);
      if (column && (replace || (*row)->fields[*column].empty())) {
        (*row)->fields[*column] = fmt::format("{:.6g}", value);
        ++filled;
      }
    }
  }
  return filled;
}

// A line under [metrics] makes a new column a feature. Without [metrics] every numeric column is a
// feature already.
std::string with_declarations(std::string_view toml, const std::vector<std::string>& added) {
  std::string lines;
  for (const std::string& name : added) {
    const KnownMetric* metric = find_metric(name);
    lines += fmt::format("{} = {{ combine = \"{}\", group = \"{}\" }}\n",
                         name,
                         metric->combine == dataset::Combine::Sum ? "sum" : "mean",
                         metric->group);
  }
  std::string out;
  bool done = false;
  while (!toml.empty()) {
    const std::size_t end = std::min(toml.find('\n'), toml.size() - 1);
    const std::string_view line = toml.substr(0, end + 1);
    out += line;
    if (!done && line.starts_with("[metrics]")) {
      out += line.ends_with('\n') ? "" : "\n";
      out += lines;
      done = true;
    }
    toml.remove_prefix(end + 1);
  }
  return out;
}

Result<std::string> text_of(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored) ? read_file(file) : Result<std::string>("");
}

}  // namespace

Result<DatasetTexts> with_profiles(const DatasetTexts& before,
                                   std::span<const WorkloadProfile> profiles,
                                   const std::filesystem::path& folder,
                                   bool replace) {
  const std::string csv_name = (folder / kProfiles).string();
  auto table = dataset::parse_csv(before.profiles_csv, csv_name);
  if (!table) {
    return tl::unexpected(table.error());
  }
  DatasetTexts out;
  out.added = add_columns(*table, metrics_in(profiles));
  const auto filled = fill(*table, profiles, replace);
  if (!filled) {
    return tl::unexpected(filled.error());
  }
  out.filled = *filled;
  out.profiles_csv = line_text(table->header);
  for (const dataset::CsvRow& row : table->rows) {
    out.profiles_csv += line_text(row.fields);
  }
  out.dataset_toml = with_declarations(before.dataset_toml, out.added);
  // The written files must load as a dataset.
  const auto settings =
      dataset::parse_dataset_toml(out.dataset_toml, (folder / kSettings).string());
  if (!settings) {
    return tl::unexpected(settings.error());
  }
  if (auto read = dataset::parse_profiles(out.profiles_csv, csv_name, *settings); !read) {
    return tl::unexpected(read.error());
  }
  return out;
}

Result<DatasetTexts> add_to_dataset(std::span<const WorkloadProfile> profiles,
                                    const std::filesystem::path& folder,
                                    bool replace) {
  const auto csv = read_file(folder / kProfiles);
  if (!csv) {
    return tl::unexpected(csv.error());
  }
  const auto toml = text_of(folder / kSettings);
  if (!toml) {
    return tl::unexpected(toml.error());
  }
  auto after =
      with_profiles({.profiles_csv = *csv, .dataset_toml = *toml, .added = {}, .filled = 0},
                    profiles,
                    folder,
                    replace);
  if (!after) {
    return after;
  }
  // The table first: columns that dataset.toml does not name yet are harmless.
  if (auto written = write_file(folder / kProfiles, after->profiles_csv); !written) {
    return tl::unexpected(written.error());
  }
  if (!after->dataset_toml.empty()) {
    if (auto written = write_file(folder / kSettings, after->dataset_toml); !written) {
      return tl::unexpected(written.error());
    }
  }
  return after;
}

}  // namespace carpool::profile
