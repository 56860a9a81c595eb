// A program that takes the place of `carpool` on the terminal: it has its standard streams, its
// process group, and the signals that arrive here. It is killed if this process is killed.
#pragma once

#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/result.hpp"

namespace carpool::app {

class ForegroundProgram {
 public:
  // Signals that arrive from now on are kept for the program. Create it before other threads start.
  ForegroundProgram();
  ForegroundProgram(const ForegroundProgram&) = delete;
  ForegroundProgram& operator=(const ForegroundProgram&) = delete;
  ~ForegroundProgram();  // kills the program if it still runs

  // `changes` are added to the environment; an empty value removes the name. NotFound if there is
  // no such program.
  [[nodiscard]] Result<void> start(const std::vector<std::string>& command,
                                   const std::map<std::string, std::string>& changes);

  // Passes signals on until the program has ended or the time is over. The result is its exit code,
  // 128 and the number of the signal that killed it, or nothing while it runs.
  [[nodiscard]] std::optional<int> wait_for(std::chrono::milliseconds limit);

 private:
  sigset_t passed_on_{};
  sigset_t before_{};
  pid_t pid_ = -1;
};

}  // namespace carpool::app
