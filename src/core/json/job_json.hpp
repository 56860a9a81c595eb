// Jobs and their events as JSON, by the keys of docs/jobs.md: the journal, the API and job files.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "core/job.hpp"
#include "core/job_event.hpp"
#include "core/run.hpp"

namespace carpool {

// Only what differs from the default; reading it gives the same job.
[[nodiscard]] nlohmann::json job_object(const JobSpec& spec);
// Unknown keys and wrong types are errors that begin with `where`. Whether the job makes sense is
// for the scheduler to say.
[[nodiscard]] Result<JobSpec> job_from(const nlohmann::json& object, const std::string& where);

[[nodiscard]] nlohmann::json exit_object(const RunExit& exit);
[[nodiscard]] nlohmann::json event_object(
    const JobEvent& event);  // with its sequence, if it has one

// One event on one line, without its sequence. Text that is not UTF-8, such as a job's own words
// about its end, is made readable.
[[nodiscard]] std::string event_line(const JobEvent& event);
[[nodiscard]] Result<JobEvent> parse_event(std::string_view line, const std::string& where);

}  // namespace carpool
