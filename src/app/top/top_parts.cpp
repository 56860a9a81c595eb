#include "app/top/top_parts.hpp"

#include <algorithm>
#include <cmath>

#include "app/output/text_table.hpp"

namespace carpool::app {
namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) {
    out += text;
  }
  return out;
}

// A broken counter may give NaN or infinity, which must not become an index.
double bounded(double share) {
  return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
}

}  // namespace

const Glyphs& unicode_glyphs() {
  static const Glyphs glyphs{.filled = "█",
                             .empty = "░",
                             .levels = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                             .degrees = "°C",
                             .arrows = "↑↓",
                             .ellipsis = "…"};
  return glyphs;
}

const Glyphs& ascii_glyphs() {
  static const Glyphs glyphs{.filled = "#",
                             .empty = ".",
                             .levels = {" ", ".", ".", ":", ":", "|", "|", "#", "#"},
                             .degrees = "C",
                             .arrows = "arrows",
                             .ellipsis = "..."};
  return glyphs;
}

Line bar(std::optional<double> share, std::size_t width, Tone tone, const Glyphs& glyphs) {
  const double length = bounded(share.value_or(0.0)) * static_cast<double>(width);
  const auto filled = static_cast<std::size_t>(std::lround(length));
  return {{repeated(glyphs.filled, filled), tone},
          {repeated(glyphs.empty, width - filled), Tone::Faint}};
}

std::vector<std::string> graph(std::span<const double> values,
                               std::size_t width,
                               std::size_t rows,
                               const Glyphs& glyphs) {
  const std::span<const double> shown = values.last(std::min(values.size(), width));
  const std::string blanks(width - shown.size(), ' ');
  const std::size_t steps = glyphs.levels.size() - 1;
  std::vector<std::string> lines(rows, blanks);
  for (const double value : shown) {
    const double height = bounded(value) * static_cast<double>(rows * steps);
    auto left = static_cast<std::size_t>(std::lround(height));
    for (std::size_t row = rows; row-- > 0;) {
      const std::size_t level = std::min(left, steps);
      lines[row] += glyphs.levels[level];
      left -= level;
    }
  }
  return lines;
}

std::size_t line_width(const Line& line) {
  std::size_t width = 0;
  for (const Piece& piece : line) {
    width += display_width(piece.text);
  }
  return width;
}

Line fitted(const Line& line, std::size_t width) {
  Line out;
  std::size_t left = width;
  for (const Piece& piece : line) {
    const std::string text = first_columns(piece.text, left);
    left -= display_width(text);
    if (!text.empty()) {
      out.push_back({text, piece.tone});
    }
  }
  if (left > 0) {
    out.push_back({std::string(left, ' '), out.empty() ? Tone::Plain : out.back().tone});
  }
  return out;
}

void append(Line& line, const Line& more) {
  line.insert(line.end(), more.begin(), more.end());
}

std::string plain_text(const Line& line) {
  std::string text;
  for (const Piece& piece : line) {
    text += piece.text;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace carpool::app
