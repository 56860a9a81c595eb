// The supervisor of an attempt whose claim was damaged or removed.
#pragma once

#include <string>

#include "base/result.hpp"
#include "run/run_folder.hpp"

namespace carpool::run {

// The first process of a job is a child of its supervisor. Where no such process is left, the claim
// names no process: a supervisor whose claim is damaged does not start its job. An error says
// nothing about the attempt.
[[nodiscard]] Result<RunClaim> recovered_claim(const RunFolder& folder,
                                               const std::string& journal,
                                               const std::string& boot);

}  // namespace carpool::run
