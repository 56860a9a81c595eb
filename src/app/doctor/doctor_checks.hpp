// The judgement of `carpool doctor`: facts in, checks out.
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
  std::string advice;   // what to do; empty where nothing needs to be done
  bool needed = false;  // sharing a GPU does not work without it
};

// All of them, in the order in which they are shown.
[[nodiscard]] std::vector<DoctorCheck> doctor_checks(const DoctorFacts& facts);

[[nodiscard]] bool can_share(const std::vector<DoctorCheck>& checks);

// Those about the driver and its GPUs.
[[nodiscard]] std::vector<DoctorCheck> doctor_gpu_checks(const DoctorFacts& facts);

enum class CheckNeeded { No, Yes };
[[nodiscard]] DoctorCheck start_check(std::string name, CheckNeeded needed = CheckNeeded::No);

}  // namespace carpool::app
