// What the server believes of a job, and from what, in words.
#pragma once

#include <optional>
#include <string>

#include "core/cluster_snapshot.hpp"
#include "core/interference_model.hpp"
#include "core/job_record.hpp"

namespace carpool::schedule {

// "assumed 35 % of a GPU until seen; kernel window of 3 s: 20 %; measured 22 % (18 to 26 %) after
// 9 s"
[[nodiscard]] std::string activity_words(const InterferenceModel& model,
                                         const std::string& workload);

// "unknown; capped at 34 GiB; measured 3.1 GiB after 8 s". `running` and `resident`: of a
// job that runs, else null.
[[nodiscard]] std::string memory_words(const QueuedJob& job,
                                       const JobAttempt* running,
                                       const Resident* resident);

// "78 % of its solo speed (65 to 90 %), from what is known of the jobs"
[[nodiscard]] std::string forecast_words(const ProgressForecast& forecast);

}  // namespace carpool::schedule
