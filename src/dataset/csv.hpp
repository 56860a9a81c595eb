// Comma-separated tables, read strictly: UTF-8, one header row, no ragged rows. Internal to
// dataset/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace carpool::dataset {

struct CsvRow {
  std::size_t line = 0;  // where the row begins, counted from 1
  std::vector<std::string> fields;
};

struct CsvTable {
  std::string file;  // as errors name it
  std::vector<std::string> header;
  std::vector<CsvRow> rows;  // each with as many fields as the header; may be none

  [[nodiscard]] std::optional<std::size_t> find(std::string_view column) const;
  [[nodiscard]] Result<std::size_t> require(std::string_view column) const;

  // "FILE:LINE: column NAME: MESSAGE", the form of every error about one field.
  [[nodiscard]] tl::unexpected<Error> reject(const CsvRow& row,
                                             std::size_t column,
                                             std::string_view message) const;

  // The field as a finite number; `expected` ends the message, for example "a throughput in
  // units/s".
  [[nodiscard]] Result<double> number(const CsvRow& row,
                                      std::size_t column,
                                      std::string_view expected) const;
  [[nodiscard]] Result<std::int64_t> integer(
      const CsvRow& row,
      std::size_t column,
      std::string_view expected,
      std::int64_t least = std::numeric_limits<std::int64_t>::min(),
      std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
};

// Quoted fields may hold commas, line ends and doubled quotes; lines end in LF or CRLF; a byte
// order mark and blank lines at the end are skipped.
[[nodiscard]] Result<CsvTable> parse_csv(std::string_view text, std::string file);

[[nodiscard]] Result<CsvTable> read_csv(const std::filesystem::path& path);

// The whole text as a finite number, in C notation whatever the locale; else empty.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

// The whole text as a decimal integer; else empty.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

// Whether the text has the form of a number, including nan, inf and values out of range: such a
// cell is an error in a column of numbers, not a sign of a column of text.
[[nodiscard]] bool looks_numeric(std::string_view text);

// A field for error messages: in quotes, cut when long, without control characters.
[[nodiscard]] std::string quote(std::string_view text);

}  // namespace carpool::dataset
