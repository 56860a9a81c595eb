// What every command receives beside its options.
#pragma once

#include "app/cli/output.hpp"
#include "base/files/config.hpp"
#include "base/result.hpp"

namespace carpool::app {

struct CommandContext {
  const Config& config;
  const Output& output;
  int& exit_code;  // of a command that succeeded; 0 unless the command sets another
};

// Of a command that goes on: prints the error; the exit code becomes the largest so far.
void note_problem(const Error& problem, const CommandContext& context);

}  // namespace carpool::app
