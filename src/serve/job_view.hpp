// Jobs and GPUs as the API shows them. Others' names, commands and environments are left out.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "schedule/scheduler.hpp"
#include "serve/caller.hpp"

namespace carpool::serve {

// One line of a listing, as JSON text appended to `out`.
void add_job_summary(std::string& out,
                     const schedule::Scheduler& scheduler,
                     const JobRecord& job,
                     const Caller& caller,
                     double now_s);
// All that its owner may know.
[[nodiscard]] nlohmann::json job_details(const schedule::Scheduler& scheduler,
                                         const JobRecord& job,
                                         const Caller& caller,
                                         double now_s);
[[nodiscard]] nlohmann::json gpu_view(const GpuView& gpu, const Caller& caller);

}  // namespace carpool::serve
