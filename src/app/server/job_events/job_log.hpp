// Starts and ends of jobs in the log of the server.
#pragma once

#include <string>

#include "core/job_event.hpp"
#include "core/job_record.hpp"

namespace carpool::app {

// Empty: the event is not logged. `job` is null where it is not known any more.
[[nodiscard]] std::string job_log_line(const JobEvent& event, const JobRecord* job);

}  // namespace carpool::app
