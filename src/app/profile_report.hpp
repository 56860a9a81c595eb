// Profiles as a page with charts.
#pragma once

#include <span>
#include <string>

#include "profile/workload_profile.hpp"
#include "report/report.hpp"

namespace carpool {

[[nodiscard]] Report profile_report(std::span<const WorkloadProfile> profiles,
                                    const std::string& command);

}  // namespace carpool
