// Commands and options of Slurm, gflow and nvtop, for people who know those: what to write here.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace carpool::app {

// "; here it is `carpool submit`" or nothing: the tail of an error message about an unknown
// command.
[[nodiscard]] std::string known_command_hint(std::string_view word);

// The same about an unknown option of a command: "; write --name NAME". `word` may have a value,
// "--job-name=x".
[[nodiscard]] std::string known_option_hint(std::string_view command, std::string_view word);

// An error where options for another tool, such as #SBATCH, are among the first lines of a script
// that has none for Carpool: what they ask for would be lost.
[[nodiscard]] Result<void> refuse_foreign_lines(const std::string& file,
                                                std::span<const std::string> lines);

}  // namespace carpool::app
