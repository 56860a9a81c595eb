// `carpool run` without a server: the program shares a GPU with others of its user, under the lock
// that keeps servers out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/command_context.hpp"
#include "app/cli/latency.hpp"
#include "base/result.hpp"

namespace carpool::app {

struct LocalRun {
  std::vector<std::string> command{};
  std::string name{};  // in `carpool top`
  std::optional<std::string> mem{};
  std::optional<std::string> mem_guarantee{};
  std::string mps = "auto";
  LatencySettings latency{};
  unsigned gpu = 0;
  std::optional<std::string> kernel_log{};
  bool learn_kernels = false;
};

// Returns when the program has ended. The exit code of this program becomes that of the other.
[[nodiscard]] Result<void> run_locally(const LocalRun& options, const CommandContext& context);

}  // namespace carpool::app
