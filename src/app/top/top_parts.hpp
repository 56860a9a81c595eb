// Lines of a terminal as plain data, and the bars and graphs in them.
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

// What bars and graphs are drawn with.
struct Glyphs {
  std::string filled;
  std::string empty;
  std::array<std::string, 9> levels;  // nothing to full
  std::string degrees;                // "°C"
  std::string arrows;                 // up and down
  std::string ellipsis;
};
[[nodiscard]] const Glyphs& unicode_glyphs();
[[nodiscard]] const Glyphs& ascii_glyphs();

// The bar of a share from 0 to 1, in `width` columns; all empty when absent.
[[nodiscard]] Line bar(std::optional<double> share,
                       std::size_t width,
                       Tone tone,
                       const Glyphs& glyphs);

// The last `width` values (shares from 0 to 1) as columns that are `rows` lines high, the newest at
// the right end, as lines from the top.
[[nodiscard]] std::vector<std::string> graph(std::span<const double> values,
                                             std::size_t width,
                                             std::size_t rows,
                                             const Glyphs& glyphs);

[[nodiscard]] std::size_t line_width(const Line& line);
// Cut to that many columns, or filled up to them with blanks.
[[nodiscard]] Line fitted(const Line& line, std::size_t width);
void append(Line& line, const Line& more);

// Without tones and without blanks at the end.
[[nodiscard]] std::string plain_text(const Line& line);

}  // namespace carpool::app
