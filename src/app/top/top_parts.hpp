// Lines of a terminal as plain data, with bars and graphs.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace carpool::app {

enum class Tone { Plain, Strong, Faint, Busy, Good, Warning, Alarm, Chosen };

struct Piece {
  std::string text;
  Tone tone = Tone::Plain;
};

using Line = std::vector<Piece>;

// The characters of bars and graphs.
struct Glyphs {
  std::string filled;
  std::string empty;
  std::array<std::string, 9> levels;  // empty to full
  std::string degrees;                // "°C"
  std::string arrows;                 // up and down
  std::string ellipsis;
};
[[nodiscard]] const Glyphs& unicode_glyphs();
[[nodiscard]] const Glyphs& ascii_glyphs();

// The bar of a share from 0 to 1, in `width` columns; empty if absent.
[[nodiscard]] Line bar(std::optional<double> share,
                       std::size_t width,
                       Tone tone,
                       const Glyphs& glyphs);

// The last `width` values (shares from 0 to 1) as columns of `rows` lines, newest at the right.
// Returns the lines from top to bottom.
[[nodiscard]] std::vector<std::string> graph(std::span<const double> values,
                                             std::size_t width,
                                             std::size_t rows,
                                             const Glyphs& glyphs);

[[nodiscard]] std::size_t line_width(const Line& line);
// Cut or padded with blanks to `width` columns.
[[nodiscard]] Line fitted(const Line& line, std::size_t width);
void append(Line& line, const Line& more);

// Without tones and without blanks at the end.
[[nodiscard]] std::string plain_text(const Line& line);

}  // namespace carpool::app
