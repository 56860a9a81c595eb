// Why a job is where it is, or waits, as the API shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "schedule/explain.hpp"

namespace carpool::serve {

[[nodiscard]] nlohmann::json explanation_view(const schedule::Explanation& explanation,
                                              const JobRecord& job);

}  // namespace carpool::serve
