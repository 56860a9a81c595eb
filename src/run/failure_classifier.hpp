// What an exit means: told apart by status, signal and the last lines of output. A pure function.
#pragma once

#include <string_view>

#include "core/run.hpp"
#include "run/run_folder.hpp"

namespace carpool::run {

// How much of each output decides.
inline constexpr std::size_t kTailBytes = std::size_t{64} << 10U;

// The tails may begin within a line. What a job prints decides only when it failed, and only by the
// exception that ended it, or by the driver's and libraries' own error names: a path, a command or
// a log line with "OOM" in it means nothing.
[[nodiscard]] RunExit classify_exit(const ExitRecord& exit,
                                    std::string_view stdout_tail,
                                    std::string_view stderr_tail);

}  // namespace carpool::run
