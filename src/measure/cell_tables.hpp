// cells.csv and failures.csv, which list every window. Internal to measure/.
#pragma once

#include <span>
#include <string>

#include "measure/result.hpp"
#include "measure/solo.hpp"

namespace carpool::measure {

// One row per member of each successful window.
[[nodiscard]] std::string cells_table(std::span<const Measurement> measurements,
                                      const SoloRuns& solo);

// One row per window whose last attempt failed.
[[nodiscard]] std::string failures_table(std::span<const Measurement> measurements);

}  // namespace carpool::measure
