// The command that a job runs when it has ended (`--notify`), or the address that it posts to: as
// the user of the job, for at most a minute, in a process that does not need the server.
#pragma once

#include <filesystem>
#include <string_view>
#include <sys/types.h>

#include "base/result.hpp"
#include "base/server_clock.hpp"
#include "core/job_record.hpp"
#include "run/process_executor.hpp"

namespace carpool::run {

// Variables of `carpool post-notice`, the program that posts.
inline constexpr const char* kNoticeAddress = "CARPOOL_NOTICE_ADDRESS";
inline constexpr const char* kNoticeDocument = "CARPOOL_NOTICE_DOCUMENT";
// Behind the name of the folder of a command that failed, and the file in it that says why.
inline constexpr std::string_view kFailedNotice = ".failed";
inline constexpr const char* kNoticeFailure = "failure";

// Starts it for a job that has ended. The process that is returned ends at once; the command runs
// in another one, which claims the folder first, so that the command runs once, and removes the
// folder at its end, or renames it where the command failed.
[[nodiscard]] Result<pid_t> start_notice(const ProcessExecutorSettings& settings,
                                         const JobRecord& job,
                                         const std::filesystem::path& folder,
                                         const ShownTime& shown);

// `carpool guard --notice`: reads the order of start_notice() from standard input. Returns twice,
// as run_supervisor() does.
[[nodiscard]] int run_notice();

}  // namespace carpool::run
