// cells.csv and failures.csv: every window, whatever it was for. Internal to measure/.
#pragma once

#include <span>
#include <string>

#include "measure/result.hpp"
#include "measure/solo.hpp"

namespace carpool::measure {

// A row a member of every window that gave numbers.
[[nodiscard]] std::string cells_table(std::span<const Measurement> measurements,
                                      const RunsAlone& alone);

// A row a window that gave none at the last attempt.
[[nodiscard]] std::string failures_table(std::span<const Measurement> measurements);

}  // namespace carpool::measure
