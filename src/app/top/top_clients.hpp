// The programs with the library in front of the driver, on the screen of `carpool top`.
#pragma once

#include <cstddef>
#include <vector>

#include "app/top/top_model.hpp"
#include "app/top/top_parts.hpp"

namespace carpool::app {

// A heading, at most `most` clients, those with an SLO or of best effort with a second line, and a
// blank line; nothing if there is no client or no room.
[[nodiscard]] std::vector<Line> client_lines(const TopModel& model,
                                             std::size_t most,
                                             const Glyphs& glyphs);

}  // namespace carpool::app
