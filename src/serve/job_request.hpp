// A submission: JSON in, jobs out.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/job.hpp"

namespace carpool::serve {

// One job by the keys of docs/jobs.md, or one for each index of an `array` like "0-9".
[[nodiscard]] Result<std::vector<JobSpec>> parse_job_request(std::string_view text);

}  // namespace carpool::serve
