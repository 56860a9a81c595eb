// The arguments of a command without options that differ from run to run and change neither memory
// nor speed: seeds, outputs, names, ports.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace carpool::identity {

[[nodiscard]] std::vector<std::string> steady_arguments(std::span<const std::string> words);

// Whether a variable that env(1) or a shell sets for the command is left out.
[[nodiscard]] bool is_left_out_variable(std::string_view name);
// NAME=VALUE
[[nodiscard]] bool is_assignment(std::string_view word);

}  // namespace carpool::identity
