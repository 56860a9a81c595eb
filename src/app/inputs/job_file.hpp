// Jobs from files: TOML, scripts with #CARPOOL lines, CARMA's .rad. Read as the user who submits;
// the server sees the content only.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::app {

// The words of a line, as a shell would split them; only quotes and backslashes mean something.
[[nodiscard]] Result<std::vector<std::string>> split_words(std::string_view line);

// The keys of a job (docs/jobs.md) from a TOML file; `time` and `runtime` as people write times.
[[nodiscard]] Result<nlohmann::json> read_job_toml(const std::filesystem::path& file);

// One value a line: comment, environment, command, …, GPUs, memory in MiB.
[[nodiscard]] Result<nlohmann::json> read_rad(const std::filesystem::path& file);

// A script whose first lines hold `#CARPOOL OPTIONS`.
struct JobScript {
  std::vector<std::string> options{};  // of all its lines
  std::vector<std::string> argv{};     // runs the script as it is now; its arguments follow
};
// No options: it is a program like any other.
[[nodiscard]] Result<JobScript> read_script(const std::filesystem::path& file);

}  // namespace carpool::app
