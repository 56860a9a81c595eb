// JSON of jobs and GPUs. Names, commands and environments of other users' jobs are
// left out, unless the caller is an operator.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/server_clock.hpp"
#include "schedule/scheduler.hpp"
#include "serve/caller.hpp"

namespace carpool::serve {

// Its name, or its program where its owner gave none.
[[nodiscard]] const std::string& shown_name(const JobRecord& job);
// One line of a listing, as JSON text appended to `out`.
void add_job_summary(std::string& out,
                     const schedule::Scheduler& scheduler,
                     const JobRecord& job,
                     const Caller& caller,
                     double now_s,
                     const ShownTime& shown = {});
// Everything about a job; only the summary for other users.
[[nodiscard]] nlohmann::json job_details(const schedule::Scheduler& scheduler,
                                         const JobRecord& job,
                                         const Caller& caller,
                                         double now_s,
                                         const ShownTime& shown = {});
[[nodiscard]] nlohmann::json gpu_view(const GpuView& gpu, const Caller& caller);
// Where the machine could not start jobs. Reasons of single jobs and users are left out.
[[nodiscard]] nlohmann::json trouble_list(const schedule::Scheduler& scheduler,
                                          const ShownTime& shown = {});
}  // namespace carpool::serve
