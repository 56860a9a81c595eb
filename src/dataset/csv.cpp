#include "dataset/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "dataset/utf8.hpp"

namespace carpool::dataset {
namespace {

constexpr std::size_t kShownBytes = 60;

template <class T>
std::from_chars_result read_chars(std::string_view text, T& value) {
  return std::from_chars(std::to_address(text.begin()), std::to_address(text.end()), value);
}

bool fills(std::string_view text, const std::from_chars_result& result) {
  return !text.empty() && result.ec == std::errc() && result.ptr == std::to_address(text.end());
}

// Splits text into records. The caller has checked that the text is UTF-8 without control
// characters but tab, line feed and carriage return.
class RecordReader {
 public:
  RecordReader(std::string_view text, std::string_view file) : rest_(text), file_(file) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  [[nodiscard]] Result<CsvRow> next() {
    CsvRow row{.line = line_, .fields = {}};
    while (true) {
      auto field = next_field();
      if (!field) {
        return tl::unexpected(std::move(field.error()));
      }
      row.fields.push_back(std::move(*field));
      if (rest_.empty()) {
        return row;
      }
      const char separator = rest_.front();
      rest_.remove_prefix(1);
      if (separator == '\n') {
        ++line_;
        return row;
      }
    }
  }

 private:
  // Leaves rest_ empty or at the comma or line feed that ends the field.
  [[nodiscard]] Result<std::string> next_field() {
    return rest_.starts_with('"') ? quoted_field() : plain_field();
  }

  [[nodiscard]] Result<std::string> plain_field() {
    const std::size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
    std::string_view field = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (field.ends_with('\r') && !rest_.starts_with(',')) {
      field.remove_suffix(1);
    }
    if (field.find('"') != std::string_view::npos) {
      return invalid_input(fmt::format(
          "{}:{}: {} has a quote inside a field that does not begin with one; expected the whole "
          "field in quotes and inner quotes doubled",
          file_,
          line_,
          quote(field)));
    }
    return std::string(field);
  }

  [[nodiscard]] Result<std::string> quoted_field() {
    const std::size_t opened = line_;
    std::string field;
    rest_.remove_prefix(1);
    while (true) {
      const std::size_t end = rest_.find('"');
      if (end == std::string_view::npos) {
        return invalid_input(
            fmt::format("{}:{}: a quote is opened here and never closed", file_, opened));
      }
      const std::string_view part = rest_.substr(0, end);
      field += part;
      line_ += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
      rest_.remove_prefix(end + 1);
      if (!rest_.starts_with('"')) {
        break;
      }
      field += '"';
      rest_.remove_prefix(1);
    }
    if (rest_.starts_with("\r\n") || rest_ == "\r") {
      rest_.remove_prefix(1);
    }
    if (!rest_.empty() && rest_.front() != ',' && rest_.front() != '\n') {
      return invalid_input(fmt::format(
          "{}:{}: text follows a closing quote; expected a comma or the end of the line",
          file_,
          line_));
    }
    return field;
  }

  std::string_view rest_;
  std::string_view file_;
  std::size_t line_ = 1;
};

Result<void> check_header(const CsvTable& table) {
  for (std::size_t column = 0; column < table.header.size(); ++column) {
    const std::string& name = table.header[column];
    if (name.empty()) {
      return invalid_input(fmt::format("{}:1: column {} of {} has no name in the header row",
                                       table.file,
                                       column + 1,
                                       table.header.size()));
    }
    if (const std::size_t first = table.find(name).value_or(column); first != column) {
      return invalid_input(fmt::format("{}:1: column {} appears twice, in places {} and {}",
                                       table.file,
                                       quote(name),
                                       first + 1,
                                       column + 1));
    }
  }
  return {};
}

// A line without any character, which only the end of a file may have.
bool is_blank(const CsvRow& row) {
  return row.fields.size() == 1 && row.fields.front().empty();
}

Result<void> read_rows(RecordReader& reader, CsvTable& table) {
  std::optional<std::size_t> blank_line;
  while (!reader.at_end()) {
    auto row = reader.next();
    if (!row) {
      return tl::unexpected(std::move(row.error()));
    }
    if (is_blank(*row)) {
      blank_line = blank_line.value_or(row->line);
      continue;
    }
    if (blank_line) {
      return invalid_input(
          fmt::format("{}:{}: blank line between rows; only the end of a file may have them",
                      table.file,
                      *blank_line));
    }
    if (row->fields.size() != table.header.size()) {
      return invalid_input(fmt::format("{}:{}: the row has {} fields; the header names {} columns",
                                       table.file,
                                       row->line,
                                       row->fields.size(),
                                       table.header.size()));
    }
    table.rows.push_back(std::move(*row));
  }
  return {};
}

}  // namespace

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  const auto found = std::find(header.begin(), header.end(), column);
  if (found == header.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - header.begin());
}

Result<std::size_t> CsvTable::require(std::string_view column) const {
  if (const auto found = find(column)) {
    return *found;
  }
  return invalid_input(
      fmt::format("{}:1: column {} is missing; found {}", file, column, fmt::join(header, ", ")));
}

tl::unexpected<Error> CsvTable::reject(const CsvRow& row,
                                       std::size_t column,
                                       std::string_view message) const {
  return invalid_input(
      fmt::format("{}:{}: column {}: {}", file, row.line, header[column], message));
}

Result<double> CsvTable::number(const CsvRow& row,
                                std::size_t column,
                                std::string_view expected) const {
  const std::string& field = row.fields[column];
  if (const auto value = parse_number(field)) {
    return *value;
  }
  return reject(
      row, column, fmt::format("{} is not a number; expected {}", quote(field), expected));
}

Result<std::int64_t> CsvTable::integer(const CsvRow& row,
                                       std::size_t column,
                                       std::string_view expected,
                                       std::int64_t least,
                                       std::int64_t most) const {
  const std::string& field = row.fields[column];
  const auto value = parse_integer(field);
  if (!value || *value < least || *value > most) {
    return reject(row, column, fmt::format("{} is not {}", quote(field), expected));
  }
  return *value;
}

Result<CsvTable> parse_csv(std::string_view text, std::string file) {
  if (const auto problem = find_text_problem(text)) {
    return invalid_input(fmt::format("{}:{}: {}", file, problem->line, problem->what));
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    text.remove_prefix(3);
  }
  CsvTable table{.file = std::move(file), .header = {}, .rows = {}};
  if (text.find_first_not_of("\r\n") == std::string_view::npos) {
    return invalid_input(fmt::format("{} is empty; expected a header row", table.file));
  }
  RecordReader reader(text, table.file);
  auto header = reader.next();
  if (!header) {
    return tl::unexpected(std::move(header.error()));
  }
  table.header = std::move(header->fields);
  if (auto checked = check_header(table); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  if (auto filled = read_rows(reader, table); !filled) {
    return tl::unexpected(std::move(filled.error()));
  }
  return table;
}

Result<CsvTable> read_csv(const std::filesystem::path& path) {
  return read_file(path).and_then(
      [&path](const std::string& text) { return parse_csv(text, path.string()); });
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0.0;
  if (!fills(text, read_chars(text, value)) || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  if (!fills(text, read_chars(text, value))) {
    return std::nullopt;
  }
  return value;
}

bool looks_numeric(std::string_view text) {
  double value = 0.0;
  const std::from_chars_result result = read_chars(text, value);
  return fills(text, {result.ptr, std::errc()});
}

std::string quote(std::string_view text) {
  std::string shown = "\"";
  std::size_t length = std::min(text.size(), kShownBytes);
  // A cut may not fall inside a UTF-8 sequence: the message would no longer be UTF-8.
  while (length < text.size() && length > 0 &&
         (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) {
    --length;
  }
  for (const char byte : text.substr(0, length)) {
    shown += static_cast<unsigned char>(byte) < 0x20U ? ' ' : byte;
  }
  return shown + (length < text.size() ? "…\"" : "\"");
}

}  // namespace carpool::dataset
