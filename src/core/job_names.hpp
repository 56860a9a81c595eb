// The words for states, ends and classes that files, the API and people see.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "core/job.hpp"
#include "core/job_record.hpp"
#include "core/placement_policy.hpp"
#include "core/run.hpp"

namespace carpool {

[[nodiscard]] std::string_view name_of(JobState state);      // "queued", "held", …
[[nodiscard]] std::string_view name_of(RunEnd end);          // "succeeded", "out-of-memory", …
[[nodiscard]] std::string_view name_of(TroubleScope scope);  // "job", "user", "gpus", "machine"
[[nodiscard]] std::string_view name_of(PauseCause cause);    // "turn", "interference", "memory"
[[nodiscard]] std::string_view name_of(JobClass job_class);  // "slo", "normal", "best-effort"
[[nodiscard]] std::string_view name_of(ShareMechanism mechanism);  // "none", "mps", …
[[nodiscard]] std::string_view name_of(Constraint constraint);     // "memory", "interference", …

[[nodiscard]] Result<RunEnd> run_end(std::string_view name);
[[nodiscard]] Result<TroubleScope> trouble_scope(std::string_view name);
[[nodiscard]] Result<PauseCause> pause_cause(std::string_view name);
[[nodiscard]] Result<JobClass> job_class(std::string_view name);
[[nodiscard]] Result<ShareMechanism> share_mechanism(std::string_view name);

}  // namespace carpool
