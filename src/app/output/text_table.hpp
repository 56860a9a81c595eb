// Aligned tables for terminals: numbers right, text left, units in the heading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace carpool::app {

class TextTable {
 public:
  enum class Align { Left, Right };

  // `colour`: the output is a terminal that shows colours.
  explicit TextTable(bool colour) : colour_(colour) {}

  // `shrinks`: its cells are cut where the table is wider than the terminal.
  void add_column(std::string heading, Align align, bool shrinks = false);
  // One cell per column. A cell is shown in one line, without what a terminal acts upon.
  void add_row(std::vector<std::string> cells, bool highlight = false);

  // Every line ends with a newline; no trailing blanks. `most`: columns of the terminal; lines are
  // longer only where all columns that shrink are as narrow as they can be.
  [[nodiscard]] std::string render(std::optional<std::size_t> most = std::nullopt) const;

 private:
  struct Column {
    std::string heading;
    Align align;
    bool shrinks;
  };
  struct Row {
    std::vector<std::string> cells;
    bool highlight;
  };

  [[nodiscard]] std::string render_line(const std::vector<std::string>& cells,
                                        const std::vector<std::size_t>& widths) const;
  [[nodiscard]] std::vector<std::size_t> widths(std::optional<std::size_t> most) const;

  bool colour_;
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// Columns that UTF-8 text takes on a terminal, counted as one per code point.
[[nodiscard]] std::size_t display_width(const std::string& text);
// The start of UTF-8 text, at most `width` columns.
[[nodiscard]] std::string first_columns(const std::string& text, std::size_t width);

// Bytes in GiB with a fixed number of decimals, for columns with [GiB] in the heading: "139.8". In
// sentences, gib_text (base/text/memory_size.hpp) adds the unit.
[[nodiscard]] std::string gib_number(std::uint64_t bytes, int decimals = 1);

}  // namespace carpool::app
