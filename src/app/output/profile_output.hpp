// Profiles as tables and JSON.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "profile/kernel_table.hpp"
#include "profile/workload_profile.hpp"

namespace carpool::app {

// The whole profile, as in its file.
[[nodiscard]] nlohmann::json profile_to_json(const profile::WorkloadProfile& profile);

// The main figures, one line each.
[[nodiscard]] std::string profile_summary(const profile::WorkloadProfile& profile,
                                          const profile::KernelTable& kernels);

// The kernels that take the most time.
[[nodiscard]] std::string kernel_lines(const profile::KernelTable& kernels, bool colour);

// One row per profile.
[[nodiscard]] std::string profiles_table(std::span<const profile::WorkloadProfile> profiles,
                                         bool colour);

// One row per metric: its value in the first profile, and in the others with the ratio to the
// first.
[[nodiscard]] std::string comparison_table(std::span<const profile::WorkloadProfile> profiles,
                                           bool colour);

}  // namespace carpool::app
