// Why an attempt ended, from its status, signal and the last lines of its output. A pure function.
#pragma once

#include <string_view>

#include "core/run.hpp"
#include "run/run_folder.hpp"

namespace carpool::run {

// How much of each output is read.
inline constexpr std::size_t kTailBytes = std::size_t{64} << 10U;

// The tails may begin within a line. Output counts only for a job that failed: the exception that
// ended it, or an error name of the driver or of a library. A path, a command or a log line with
// "OOM" in it does not count.
[[nodiscard]] RunExit classify_exit(const ExitRecord& exit,
                                    std::string_view stdout_tail,
                                    std::string_view stderr_tail);

}  // namespace carpool::run
