// Whether a job may enter the queue.
#pragma once

#include <span>

#include "base/result.hpp"
#include "core/cluster_snapshot.hpp"
#include "core/job.hpp"
#include "schedule/job_table.hpp"

namespace carpool::schedule {

// An error names the key with the invalid value, and what would be valid.
[[nodiscard]] Result<void> check_submission(const JobSpec& spec,
                                            std::span<const GpuView> gpus,
                                            const JobTable& jobs);

}  // namespace carpool::schedule
