#include "dataset/dataset.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "base/text/digest.hpp"
#include "base/text/names.hpp"
#include "dataset/csv.hpp"
#include "dataset/parse.hpp"

namespace carpool::dataset {
namespace {

namespace fs = std::filesystem;

// Enough for the header of any group table.
constexpr std::size_t kHeaderBytes = std::size_t{64} << 10U;

Result<DatasetSettings> load_settings(const fs::path& path) {
  auto text = read_file(path);
  if (!text && text.error().code == ErrorCode::NotFound) {
    return DatasetSettings{};
  }
  return std::move(text).and_then(
      [&path](const std::string& toml) { return parse_dataset_toml(toml, path.string()); });
}

bool is_group_table_file(const fs::directory_entry& entry) {
  std::error_code ignored;
  if (entry.path().extension() != ".csv" || !entry.is_regular_file(ignored)) {
    return false;
  }
  std::string start(kHeaderBytes, '\0');
  std::ifstream stream(entry.path(), std::ios::binary);
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(stream.gcount()));
  return is_group_table_header(std::string_view(start).substr(0, start.find('\n')));
}

// Length before content, so that no two different lists give the same text.
void append_text(std::string& out, std::string_view text) {
  out += fmt::format("{}:{};", text.size(), text);
}

void append_number(std::string& out, double value) {
  out += fmt::format("{};", value);
}

void append_profile(std::string& out, const Profile& profile) {
  append_text(out, profile.workload);
  append_text(out, profile.model);
  append_text(out, profile.task);
  append_text(out, profile.batch ? fmt::format("{}", *profile.batch) : "");
  append_number(out, profile.exclusive_throughput);
  for (const auto& [name, value] : profile.metrics) {
    append_text(out, name);
    append_number(out, value);
  }
  out += '\n';
}

}  // namespace

std::optional<std::size_t> Dataset::find(std::string_view workload) const {
  const auto found = std::find_if(profiles.begin(), profiles.end(), [&](const Profile& profile) {
    return profile.workload == workload;
  });
  if (found == profiles.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - profiles.begin());
}

std::string Dataset::unknown_workload(std::string_view name) const {
  std::vector<std::string_view> names;
  names.reserve(profiles.size());
  for (const Profile& profile : profiles) {
    names.push_back(profile.workload);
  }
  return fmt::format(
      "{} is not a workload of profiles.csv{}", quote(name), suggestion(name, names));
}

double GroupRow::sum() const {
  return std::accumulate(throughput.begin(), throughput.end(), 0.0);
}

bool GroupRow::contains(std::size_t profile) const {
  return std::any_of(members.begin(), members.end(), [profile](const GroupMember& member) {
    return member.profile == profile;
  });
}

Result<Dataset> load_dataset(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    return fail(ErrorCode::NotFound,
                fmt::format("{} is not a folder; expected one with profiles.csv", folder.string()));
  }
  const auto settings = load_settings(folder / "dataset.toml");
  if (!settings) {
    return tl::unexpected(settings.error());
  }
  const fs::path path = folder / "profiles.csv";
  return read_file(path)
      .and_then(
          [&](const std::string& text) { return parse_profiles(text, path.string(), *settings); })
      .map([&folder](Dataset dataset) {
        dataset.folder = folder;
        return dataset;
      });
}

Result<GroupTable> load_group_table(const Dataset& dataset, std::string_view name) {
  if (name.empty() || name.find_first_of("/\\") != std::string_view::npos) {
    return invalid_input(
        fmt::format("{} is not the name of a table; expected the name of a file of {} without .csv",
                    quote(name),
                    dataset.folder.string()));
  }
  const fs::path path = dataset.folder / fmt::format("{}.csv", name);
  const auto text = read_file(path);
  if (!text && text.error().code == ErrorCode::NotFound) {
    const std::vector<std::string> tables = list_group_tables(dataset);
    return fail(ErrorCode::NotFound,
                fmt::format("{} has no table {}; it has {}",
                            dataset.folder.string(),
                            quote(name),
                            tables.empty() ? "none" : fmt::format("{}", fmt::join(tables, ", "))));
  }
  if (!text) {
    return tl::unexpected(text.error());
  }
  return parse_group_table(*text, path.string(), dataset, name);
}

Result<std::vector<LimitedRun>> load_limited_runs(const Dataset& dataset) {
  const fs::path path = dataset.folder / "exclusive_mps.csv";
  const auto text = read_file(path);
  if (!text && text.error().code == ErrorCode::NotFound) {
    return std::vector<LimitedRun>{};
  }
  if (!text) {
    return tl::unexpected(text.error());
  }
  return parse_limited_runs(*text, path.string(), dataset);
}

std::vector<std::string> list_group_tables(const Dataset& dataset) {
  std::vector<std::string> names;
  std::error_code problem;
  for (auto entry = fs::directory_iterator(dataset.folder, problem);
       !problem && entry != fs::directory_iterator();
       entry.increment(problem)) {
    if (is_group_table_file(*entry)) {
      names.push_back(entry->path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string fingerprint(const Dataset& dataset, const std::vector<GroupRow>& rows) {
  std::string text;
  for (const MetricInfo& metric : dataset.metrics) {
    append_text(text, metric.name);
    append_text(text, metric.combine == Combine::Mean ? "mean" : "sum");
    append_text(text, metric.group);
    text += '\n';
  }
  text += "profiles\n";
  for (const Profile& profile : dataset.profiles) {
    append_profile(text, profile);
  }
  text += "rows\n";
  for (const GroupRow& row : rows) {
    append_text(text, row.campaign);
    for (std::size_t i = 0; i < row.members.size(); ++i) {
      append_text(text, dataset.profiles[row.members[i].profile].workload);
      append_number(text, row.members[i].thread_limit);
      append_number(text, row.throughput[i]);
    }
    text += '\n';
  }
  return sha256_hex(text);
}

}  // namespace carpool::dataset
