// The events of a journal as a whole: whether each fits the job that those before it describe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/job_event.hpp"
#include "store/sqlite.hpp"

namespace carpool::store {

// Calls `each` with all events of one job after the other, in order. An event that cannot be read
// is passed to `unreadable` with its sequence.
[[nodiscard]] Result<void> for_jobs(
    const SqlDatabase& database,
    bool has_environments,
    const std::function<Result<void>(std::vector<JobEvent>& events)>& each,
    const std::function<void(std::int64_t sequence, const Error& problem)>& unreadable);

// Events that cannot be read or do not fit, and jobs whose row says otherwise; one line each.
[[nodiscard]] std::vector<std::string> misfits(const SqlDatabase& database, bool has_environments);

}  // namespace carpool::store
