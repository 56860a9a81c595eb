// Profiles as tables and JSON for people and programs.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "profile/kernel_table.hpp"
#include "profile/workload_profile.hpp"

namespace carpool::app {

// The whole profile, as its file has it.
[[nodiscard]] nlohmann::json profile_to_json(const profile::WorkloadProfile& profile);

// What a person wants to know first, a line each.
[[nodiscard]] std::string profile_summary(const profile::WorkloadProfile& profile,
                                          const profile::KernelTable& kernels);

// The kernels that take most time.
[[nodiscard]] std::string kernel_lines(const profile::KernelTable& kernels, bool colour);

// A row a profile.
[[nodiscard]] std::string profiles_table(std::span<const profile::WorkloadProfile> profiles,
                                         bool colour);

// A row a metric: its value in the first, and the others' with their ratio to it.
[[nodiscard]] std::string comparison_table(std::span<const profile::WorkloadProfile> profiles,
                                           bool colour);

}  // namespace carpool::app
