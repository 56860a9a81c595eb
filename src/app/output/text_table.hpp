// Aligned tables for terminals: numbers right, text left, the unit in the heading.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace carpool::app {

class TextTable {
 public:
  enum class Align { Left, Right };

  // Colours are used only when the caller says that the output is a terminal.
  explicit TextTable(bool colour) : colour_(colour) {}

  void add_column(std::string heading, Align align);
  // One cell a column.
  void add_row(std::vector<std::string> cells, bool highlight = false);

  // Every line ends with a newline; no trailing blanks.
  [[nodiscard]] std::string render() const;

 private:
  struct Column {
    std::string heading;
    Align align;
  };
  struct Row {
    std::vector<std::string> cells;
    bool highlight;
  };

  [[nodiscard]] std::string render_line(const std::vector<std::string>& cells,
                                        const std::vector<std::size_t>& widths) const;

  bool colour_;
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// Columns that a terminal needs for UTF-8 text (one a code point; enough for our own words).
[[nodiscard]] std::size_t display_width(const std::string& text);
// The start of UTF-8 text, at most that wide.
[[nodiscard]] std::string first_columns(const std::string& text, std::size_t width);

}  // namespace carpool::app
