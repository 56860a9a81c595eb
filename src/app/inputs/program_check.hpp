// Mistakes in the program of a job that are sure before the job is submitted.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace carpool::app {

// `word`: the first word of a command. `folder`: where the job will run. Only what cannot be meant
// is refused: a file that is not executable, a folder, a job file or script that does not exist.
[[nodiscard]] Result<void> check_program(const std::string& word,
                                         const std::filesystem::path& folder);

}  // namespace carpool::app
