// Checks of `carpool doctor`: takes facts, returns findings with advice.
#pragma once

#include <string>
#include <vector>

#include "app/doctor/doctor_facts.hpp"

namespace carpool::app {

enum class CheckState { Ok, Degraded, Missing };

struct DoctorCheck {
  std::string name;
  CheckState state = CheckState::Ok;
  std::string found;
  std::string advice;   // why it matters and what to do; empty if there is nothing to do
  bool needed = false;  // jobs cannot share a GPU without it
};

// All checks, in the order shown.
[[nodiscard]] std::vector<DoctorCheck> doctor_checks(const DoctorFacts& facts);

[[nodiscard]] bool can_share(const std::vector<DoctorCheck>& checks);

// The checks of the driver and its GPUs.
[[nodiscard]] std::vector<DoctorCheck> doctor_gpu_checks(const DoctorFacts& facts);

[[nodiscard]] DoctorCheck check_cgroups(const DoctorFacts& facts);

enum class CheckNeeded { No, Yes };
[[nodiscard]] DoctorCheck start_check(std::string name, CheckNeeded needed = CheckNeeded::No);

}  // namespace carpool::app
