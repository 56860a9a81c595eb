// Text that a shell runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace carpool::identity {

// The command of a line such as "cd p && source env.sh && LR=3 python train.py > log 2>&1".
struct ShellCommand {
  std::vector<std::string> words{};
  std::vector<std::string> variables{};  // NAME=VALUE in front of it
  std::string folder{};                  // of the last "cd"; empty: none
};
// Empty: it is more than one command, beside those that only prepare.
[[nodiscard]] std::optional<ShellCommand> one_command(std::string_view text);

// The text of a script without comments, and without what steady_arguments() leaves out.
[[nodiscard]] std::string steady_script(std::string_view text);

}  // namespace carpool::identity
