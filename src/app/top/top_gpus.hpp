// The GPUs on the screen of `carpool top`: bars, and a graph of the history.
#pragma once

#include <cstddef>
#include <vector>

#include "app/top/top_model.hpp"
#include "app/top/top_parts.hpp"

namespace carpool::app {

// A block of bars per GPU, with a graph as tall as the room allows once there is a history; one
// line per GPU if the blocks do not fit. At most `room` lines, at least one.
[[nodiscard]] std::vector<Line> gpu_lines(const TopModel& model,
                                          std::size_t columns,
                                          std::size_t room,
                                          const Glyphs& glyphs);

}  // namespace carpool::app
