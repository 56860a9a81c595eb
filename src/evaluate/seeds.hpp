// Seeds in the notation of the command line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace carpool::evaluate {

// "1000-1049", "10,20,30", or a bare count "20" (seeds 0 … 19).
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_seeds(std::string_view text);

}  // namespace carpool::evaluate
