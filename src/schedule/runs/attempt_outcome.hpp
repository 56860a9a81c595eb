// What follows from the end of an attempt: the job is over, or goes back into the queue. A pure
// function of its record; docs/scheduling.md has the rules as a table.
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

// A job that was stopped by its cap this often gets a whole GPU next, and runs out of memory as any
// other does after that.
inline constexpr unsigned kMostOverCap = 8;

using AttemptOutcome = std::variant<JobClosed, JobRequeued>;

// For a job whose last attempt has ended, with no decision made yet.
[[nodiscard]] AttemptOutcome attempt_outcome(const JobRecord& job, const OutcomeRules& rules);

}  // namespace carpool::schedule
