#include "core/submission/own_output.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace carpool {
namespace {

constexpr std::string_view kNowhere = "/dev/null";
constexpr std::size_t kLongestName = 4000;  // with a working folder, below the kernel's PATH_MAX

std::string named(const std::string& name, const JobSpec& spec, JobId job) {
  if (name.empty()) {
    return {};
  }
  std::string path;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char sign = name[i] == '%' && i + 1 < name.size() ? name[++i] : '\0';
    if (sign == 'j') {
      path += fmt::format("{}", job);
    } else if (sign == 'a') {
      path += fmt::format("{}", spec.array_index.value_or(0));
    } else {
      path += name[i];
    }
  }
  return (std::filesystem::path(spec.cwd.empty() ? "/" : spec.cwd) / path).string();
}

// What stands behind each percent sign, in this order: '\0' where the name ends with one.
std::string signs_of(std::string_view name) {
  std::string signs;
  std::size_t percent = name.find('%');
  while (percent != std::string_view::npos) {
    signs += percent + 1 < name.size() ? name[percent + 1] : '\0';
    percent = name.find('%', percent + 2);
  }
  return signs;
}

bool has_sign(std::string_view name, char wanted) {
  return signs_of(name).find(wanted) != std::string::npos;
}

Result<void> check_name(std::string_view key, const std::string& name, const JobSpec& spec) {
  if (signs_of(name).find_first_not_of("ja%") != std::string::npos) {
    return invalid_input(fmt::format(
        "{}: \"{}\": %j stands for the number of the job, %a for its array index; write %% for a "
        "percent sign",
        key,
        name));
  }
  const auto control = [](char c) { return static_cast<unsigned char>(c) < ' '; };
  if (name.size() > kLongestName || std::ranges::any_of(name, control) || name.ends_with('/')) {
    return invalid_input(fmt::format(
        "{}: name a file, with at most {} bytes and no control characters", key, kLongestName));
  }
  if (has_sign(name, 'a') && !spec.array_index) {
    return invalid_input(
        fmt::format("{}: \"{}\": %a is for jobs of an array; write %j, or add --array", key, name));
  }
  return {};
}

Result<void> check_shared(std::string_view key,
                          std::span<const JobSpec> jobs,
                          const std::string JobSpec::* name) {
  std::set<std::string> files;
  for (const JobSpec& spec : jobs) {
    const std::string& own = spec.*name;
    if (own.empty() || own == kNowhere || has_sign(own, 'j')) {
      return {};
    }
    if (!files.insert(named(own, spec, 0)).second) {
      return invalid_input(fmt::format(
          "{}: jobs of the array would write to one file, \"{}\"; add %a or %j to its name",
          key,
          own));
    }
  }
  return {};
}

}  // namespace

std::string own_output(const JobSpec& spec, JobId job) {
  return named(spec.output, spec, job);
}

std::string own_error(const JobSpec& spec, JobId job) {
  return named(spec.error.empty() ? spec.output : spec.error, spec, job);
}

Result<void> check_own_outputs(std::span<const JobSpec> jobs) {
  for (const auto& [key, name] :
       {std::pair("output", &JobSpec::output), std::pair("error", &JobSpec::error)}) {
    Result<void> checked =
        jobs.empty() ? Result<void>() : check_name(key, jobs.front().*name, jobs.front());
    if (checked) {
      checked = check_shared(key, jobs, name);
    }
    if (!checked) {
      return checked;
    }
  }
  return {};
}

}  // namespace carpool
