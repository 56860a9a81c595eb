// One process or job on the screen of `carpool top`: what it is, its memory and its GPU over time.
#pragma once

#include <cstddef>
#include <vector>

#include "app/top/top_model.hpp"
#include "app/top/top_parts.hpp"

namespace carpool::app {

// Of the row TopModel::detail. The graphs are as tall as the screen allows.
[[nodiscard]] std::vector<Line> detail_lines(const TopModel& model,
                                             std::size_t columns,
                                             std::size_t rows,
                                             const Glyphs& glyphs);

}  // namespace carpool::app
