#include "app/output/text_table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text/printable.hpp"

namespace carpool::app {
namespace {

constexpr std::size_t kBetweenColumns = 2;
constexpr std::size_t kNarrowest = 8;  // of a column that shrinks

std::string cut_cell(const std::string& text, std::size_t width) {
  return display_width(text) <= width ? text : first_columns(text, width - 1) + "…";
}

}  // namespace

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string first_columns(const std::string& text, std::size_t width) {
  std::size_t at = 0;
  for (; at < text.size() && width > 0; --width) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) {
      ++at;
    }
  }
  return text.substr(0, at);
}

std::string gib_number(std::uint64_t bytes, int decimals) {
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  return fmt::format("{:.{}f}", static_cast<double>(bytes) / kGib, decimals);
}

void TextTable::add_column(std::string heading, Align align, bool shrinks) {
  columns_.push_back({std::move(heading), align, shrinks});
}

void TextTable::add_row(std::vector<std::string> cells, bool highlight) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) {
    cell = printable(cell);
  }
  rows_.push_back({std::move(cells), highlight});
}

std::string TextTable::render_line(const std::vector<std::string>& cells,
                                   const std::vector<std::size_t>& widths) const {
  std::string line;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string cell = cut_cell(cells[i], widths[i]);
    const std::string padding(widths[i] - display_width(cell), ' ');
    line += std::string(i == 0 ? 0 : kBetweenColumns, ' ');
    line += columns_[i].align == Align::Left ? cell + padding : padding + cell;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::vector<std::size_t> TextTable::widths(std::optional<std::size_t> most) const {
  std::vector<std::size_t> widths;
  std::size_t total = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].heading);
    for (const Row& row : rows_) {
      width = std::max(width, display_width(row.cells[i]));
    }
    widths.push_back(width);
    total += width + (i == 0 ? 0 : kBetweenColumns);
  }
  // The widest column that shrinks gives one place after the other.
  while (most && total > *most) {
    std::size_t widest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const bool can = columns_[i].shrinks && widths[i] > kNarrowest;
      if (can && (widest == columns_.size() || widths[i] > widths[widest])) {
        widest = i;
      }
    }
    if (widest == columns_.size()) {
      break;
    }
    --widths[widest];
    --total;
  }
  return widths;
}

std::string TextTable::render(std::optional<std::size_t> most) const {
  const std::vector<std::size_t> fitted = widths(most);
  std::vector<std::string> headings;
  headings.reserve(columns_.size());
  for (const Column& column : columns_) {
    headings.push_back(column.heading);
  }
  const auto styled = [&](const std::string& line, const char* code) {
    return (colour_ ? code + line + "\033[0m" : line) + "\n";
  };
  std::string text = styled(render_line(headings, fitted), "\033[2m");
  for (const Row& row : rows_) {
    const std::string line = render_line(row.cells, fitted);
    text += row.highlight ? styled(line, "\033[1;32m") : line + "\n";
  }
  return text;
}

}  // namespace carpool::app
