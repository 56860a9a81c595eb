// Which program a command runs: behind interpreters, launchers and shells that only start it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace carpool::identity {

struct ProgramWords {
  std::vector<std::string> variables{};  // NAME=VALUE, set for it by env(1) or a shell
  std::string program{};                 // a path, a module, or "python code:5f1c02ab"
  enum class Kind {
    Command,  // found in PATH
    Script,   // a path, from the working folder if it is relative
    Module,   // python -m
    Code,     // python -c, or a whole script as text
  } kind = Kind::Command;
  std::vector<std::string> arguments{};
  std::string folder{};  // that a shell enters before; empty: none
};

[[nodiscard]] ProgramWords find_program(std::span<const std::string> argv);

}  // namespace carpool::identity
