// Files that a job names for its output. In a name, %j is the number of the job, %a its index in
// the array, and %% a percent sign. A relative name begins in the working folder of the job.
#pragma once

#include <span>
#include <string>

#include "base/result.hpp"
#include "core/job.hpp"

namespace carpool {

// The path for standard output; empty: the job names none.
[[nodiscard]] std::string own_output(const JobSpec& spec, JobId job);
// For standard error: without a name of its own, that of standard output.
[[nodiscard]] std::string own_error(const JobSpec& spec, JobId job);

// Whether the names can be used by these jobs of one submission: jobs of an array may not share a
// file.
[[nodiscard]] Result<void> check_own_outputs(std::span<const JobSpec> jobs);

}  // namespace carpool
