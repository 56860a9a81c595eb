// The screen of `carpool top`: turns a model into lines.
#pragma once

#include <cstddef>
#include <vector>

#include "app/top/top_model.hpp"
#include "app/top/top_parts.hpp"

namespace carpool::app {

struct TopScreenSize {
  std::size_t columns = 100;
  std::size_t rows = 0;  // 0: a print-out with as many lines as needed, no selection and no keys
  bool whole_lines = false;  // what is longer than the columns is not cut
};

struct TopView {
  std::vector<Line>
      lines;  // exactly as wide as the screen unless whole_lines, at most as many as its rows
  std::size_t page = 0;  // number of processes shown
};

[[nodiscard]] TopView top_view(const TopModel& model,
                               const TopScreenSize& size,
                               const Glyphs& glyphs);

}  // namespace carpool::app
