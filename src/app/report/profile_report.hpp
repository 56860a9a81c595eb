// Profiles as an HTML report.
#pragma once

#include <span>
#include <string>

#include "profile/workload_profile.hpp"
#include "report/report.hpp"

namespace carpool::app {

[[nodiscard]] report::Report profile_report(std::span<const profile::WorkloadProfile> profiles,
                                            const std::string& command);

}  // namespace carpool::app
