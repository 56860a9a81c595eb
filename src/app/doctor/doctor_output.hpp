// Checks of `carpool doctor` as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/doctor/doctor_checks.hpp"

namespace carpool::app {

// One paragraph: whether jobs can share the GPUs of this machine, and what to do if not.
[[nodiscard]] std::string doctor_verdict(const DoctorFacts& facts,
                                         const std::vector<DoctorCheck>& checks);

[[nodiscard]] std::string render_checks(const std::vector<DoctorCheck>& checks, bool colour);
[[nodiscard]] nlohmann::json checks_to_json(const std::vector<DoctorCheck>& checks);

}  // namespace carpool::app
