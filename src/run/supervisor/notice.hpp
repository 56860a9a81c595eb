// The command that a job runs when it has ended (`--notify`): as the user of the job, for at most a
// minute, in a process that does not need the server.
#pragma once

#include <filesystem>
#include <sys/types.h>

#include "base/result.hpp"
#include "core/job_record.hpp"
#include "run/process_executor.hpp"

namespace carpool::run {

// Starts it for a job that has ended. The process that is returned ends at once; the command runs
// in another one, which claims the folder first, so that the command runs once, and removes the
// folder at its end.
[[nodiscard]] Result<pid_t> start_notice(const ProcessExecutorSettings& settings,
                                         const JobRecord& job,
                                         const std::filesystem::path& folder);

// `carpool guard --notice`: reads the order of start_notice() from standard input. Returns twice,
// as run_supervisor() does.
[[nodiscard]] int run_notice();

}  // namespace carpool::run
