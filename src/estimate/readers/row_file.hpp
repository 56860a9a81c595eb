// One job in the row format of measured jobs (docs/estimate.md), as a trace writes it; measurements
// may be missing.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

[[nodiscard]] Result<ReadModel> parse_row_file(std::string_view text, std::string_view name);

}  // namespace carpool::estimate
