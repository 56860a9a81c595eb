// The names of workloads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/job.hpp"

namespace carpool {

// The name of a job's workload, else its program and arguments without what varies from run to run
// (docs/jobs.md): "train.py --model resnet50 --batch-size 64 @p.3fa2c1". One line of UTF-8, at most
// 120 bytes if it is derived.
[[nodiscard]] std::string workload_key(const JobSpec& spec);

// The workload of one user, as schedulers, policies and models name it: what the jobs of one user
// teach does not change what is believed of another's.
[[nodiscard]] std::string scoped_workload(std::uint32_t uid, std::string_view workload);
// The name without the user; the same where there is none.
[[nodiscard]] std::string_view workload_name(std::string_view scoped);
// Empty where the name has no user.
[[nodiscard]] std::optional<std::uint32_t> workload_uid(std::string_view scoped);

}  // namespace carpool
