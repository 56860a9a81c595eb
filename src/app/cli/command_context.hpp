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

}  // namespace carpool::app
