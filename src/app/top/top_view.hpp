// The screen of `carpool top`: a model in, lines out.
#pragma once

#include <cstddef>
#include <vector>

#include "app/top/top_model.hpp"
#include "app/top/top_parts.hpp"

namespace carpool::app {

struct TopScreenSize {
  std::size_t columns = 100;
  std::size_t rows = 0;  // 0: as many as it takes, nothing chosen and no keys: a print-out
};

struct TopView {
  std::vector<Line> lines;  // each exactly as wide as the screen; never more than it has rows
  std::size_t page = 0;     // processes that it shows
};

[[nodiscard]] TopView top_view(const TopModel& model,
                               const TopScreenSize& size,
                               const Glyphs& glyphs);

}  // namespace carpool::app
