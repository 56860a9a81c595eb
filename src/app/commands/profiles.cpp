#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/output/profile_output.hpp"
#include "app/report/profile_report.hpp"
#include "base/files/file.hpp"
#include "profile/dataset_merge.hpp"

namespace carpool::app {
namespace {

struct ProfilesOptions {
  std::vector<std::string> paths;  // files and folders; empty: the current folder
  bool compare = false;
  std::optional<std::string> plot;     // page to write
  std::optional<std::string> dataset;  // folder to add the metrics to
  bool replace = false;
};

void add_profiles_options(OptionSet& options, ProfilesOptions& profiles) {
  options.positional("paths",
                     &profiles.paths,
                     "PATH",
                     "Profiles, or folders with profiles (default: the current folder)");
  options.flag("--compare",
               profiles.compare,
               "Show every metric of each profile and its ratio to the first");
  options.option("--plot", &profiles.plot, "FILE", "HTML page with charts to write");
  options.option("--to-dataset",
                 &profiles.dataset,
                 "DIR",
                 "Dataset folder whose profiles.csv and dataset.toml receive the metrics");
  options.flag("--replace",
               profiles.replace,
               "With --to-dataset: also replace values that are there",
               {.needs = "--to-dataset"});
}

bool is_profile(const std::filesystem::path& path) {
  return path.filename().string().ends_with(profile::kProfileSuffix);
}

Result<std::vector<std::filesystem::path>> profile_files(const std::vector<std::string>& named) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : named.empty() ? std::vector<std::string>{"."} : named) {
    std::error_code problem;
    if (!std::filesystem::is_directory(name, problem)) {
      files.emplace_back(name);
      continue;
    }
    std::vector<std::filesystem::path> here;
    for (const auto& entry : std::filesystem::directory_iterator(name, problem)) {
      if (is_profile(entry.path())) {
        here.push_back(entry.path());
      }
    }
    if (problem) {
      return invalid_input(fmt::format("folder {}: {}", name, problem.message()));
    }
    std::sort(here.begin(), here.end());
    files.insert(files.end(), here.begin(), here.end());
  }
  return files;
}

Result<std::vector<profile::WorkloadProfile>> load_all(const std::vector<std::string>& paths) {
  const auto files = profile_files(paths);
  if (!files) {
    return tl::unexpected(files.error());
  }
  if (files->empty()) {
    return fail(ErrorCode::NotFound,
                fmt::format("there is no NAME{} in {}; `carpool profile` writes them",
                            profile::kProfileSuffix,
                            paths.empty() ? "this folder" : paths.front()));
  }
  std::vector<profile::WorkloadProfile> profiles;
  for (const auto& file : *files) {
    auto profile = profile::load_profile(file);
    if (!profile) {
      return tl::unexpected(std::move(profile.error()));
    }
    profiles.push_back(std::move(*profile));
  }
  return profiles;
}

Result<void> merge(const ProfilesOptions& options,
                   const std::vector<profile::WorkloadProfile>& profiles,
                   const Output& output) {
  const auto merged = profile::add_to_dataset(profiles, *options.dataset, options.replace);
  if (!merged) {
    return tl::unexpected(merged.error());
  }
  if (output.json()) {
    output.print_json({{"folder", *options.dataset},
                       {"profiles", profiles.size()},
                       {"columns_added", merged->added},
                       {"cells_filled", merged->filled}});
  } else {
    output.print(fmt::format("{}: {} profiles, {} new columns, {} values\n",
                             *options.dataset,
                             profiles.size(),
                             merged->added.size(),
                             merged->filled));
  }
  return {};
}

Result<void> run_profiles(const ProfilesOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  const auto profiles = load_all(options.paths);
  if (!profiles) {
    return tl::unexpected(profiles.error());
  }
  if (options.dataset) {
    return merge(options, *profiles, output);
  }
  if (options.plot) {
    const std::string page =
        report::render_html(profile_report(*profiles, "carpool profiles --plot"));
    if (auto written = write_file(*options.plot, page); !written) {
      return written;
    }
    if (output.json()) {
      output.print_json({{"file", *options.plot}, {"bytes", page.size()}});
    } else {
      output.print(fmt::format("{} written: open it in a browser\n", *options.plot));
    }
    return {};
  }
  if (output.json()) {
    nlohmann::json list = nlohmann::json::array();
    for (const profile::WorkloadProfile& profile : *profiles) {
      list.push_back(profile_to_json(profile));
    }
    output.print_json(list);
    return {};
  }
  output.print(options.compare ? comparison_table(*profiles, output.colour())
                               : profiles_table(*profiles, output.colour()));
  return {};
}

}  // namespace

CommandSpec profiles_command() {
  return make_command(add_profiles_options,
                      run_profiles,
                      {"carpool profiles",
                       "carpool profiles profiles --json",
                       "carpool profiles --compare job0.profile.json job1.profile.json",
                       "carpool profiles profiles --plot profiles.html",
                       "carpool profiles profiles --to-dataset my-gpu"});
}

}  // namespace carpool::app
