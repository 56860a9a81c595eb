#include "serve/user_limits.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "schedule/queue_order.hpp"

namespace carpool::serve {

Result<void> check_user_limits(const UserLimits& limits,
                               const Caller& caller,
                               std::span<const JobSpec> jobs) {
  if (caller.operates) {
    return {};
  }
  const auto highest = std::ranges::max_element(jobs, {}, &JobSpec::priority);
  if (highest != jobs.end() && highest->priority > limits.priority) {
    return forbidden(fmt::format(
        "priority: {} is more than {}, the most that users may choose; operators may choose up to "
        "{}",
        highest->priority,
        limits.priority,
        schedule::kMostPriority));
  }
  if (std::ranges::find(jobs, JobClass::Slo, &JobSpec::job_class) == jobs.end() ||
      (limits.slo_group && in_group(caller.uid, *limits.slo_group))) {
    return {};
  }
  return forbidden(limits.slo_group
                       ? fmt::format("class: only operators and members of group \"{}\" may submit "
                                     "jobs of class slo",
                                     *limits.slo_group)
                       : "class: only operators may submit jobs of class slo");
}

}  // namespace carpool::serve
