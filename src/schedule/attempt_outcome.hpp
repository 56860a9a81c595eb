// What becomes of a job whose attempt has ended: over, or back into the queue. A pure function of
// its record; docs/scheduling.md has the rules as a table.
#pragma once

#include <cstdint>
#include <variant>

#include "core/job_event.hpp"
#include "core/job_record.hpp"
#include "schedule/recovery.hpp"

namespace carpool::schedule {

struct OutcomeRules {
  RecoveryRule recovery = RecoveryRule::Reserve;
  unsigned max_out_of_memory = 5;
  std::uint64_t gpu_bytes = 0;  // of the largest GPU that it could run on
};

using AttemptOutcome = std::variant<JobClosed, JobRequeued>;

// The job's last attempt has ended, and nothing was decided about it yet.
[[nodiscard]] AttemptOutcome attempt_outcome(const JobRecord& job, const OutcomeRules& rules);

}  // namespace carpool::schedule
