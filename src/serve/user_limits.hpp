// What users who are not operators may ask for.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "core/job.hpp"
#include "serve/caller.hpp"

namespace carpool::serve {

struct UserLimits {
  int priority = 0;                        // the highest
  std::optional<std::string> slo_group{};  // its members may use the class slo
};

// Forbidden, with who may do it, if the caller may not submit one of these jobs.
[[nodiscard]] Result<void> check_user_limits(const UserLimits& limits,
                                             const Caller& caller,
                                             std::span<const JobSpec> jobs);

}  // namespace carpool::serve
