// Jobs from files: TOML, scripts with #CARPOOL lines, .rad files of CARMA. The submitting user
// reads them; the server receives only the content.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::app {

// The words of a line, split as by a shell. Only quotes and backslashes have a meaning.
[[nodiscard]] Result<std::vector<std::string>> split_words(std::string_view line);

// The keys of a job (docs/jobs.md) from a TOML file; `time` and `runtime` take values such as "2h".
[[nodiscard]] Result<nlohmann::json> read_job_toml(const std::filesystem::path& file);

// One value per line: comment, environment, command, …, GPUs, memory in MiB.
[[nodiscard]] Result<nlohmann::json> read_rad(const std::filesystem::path& file);

// A script that starts with lines `#CARPOOL OPTIONS`.
struct JobScript {
  std::vector<std::string> options{};  // of all #CARPOOL lines
  std::vector<std::string> argv{};     // runs the script as it is now; append its arguments
};
// A file without #CARPOOL lines has no options and no argv: it is an ordinary program. One with
// lines of another tool only, such as #SBATCH, is refused: what they ask for would be lost.
[[nodiscard]] Result<JobScript> read_script(const std::filesystem::path& file);

}  // namespace carpool::app
