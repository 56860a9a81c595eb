// Reads the rows of a trace: columns by any of their names, values within bounds.
// Internal to simulate/.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "dataset/csv.hpp"
#include "simulate/trace/trace.hpp"

namespace carpool::simulate {

// The table must outlive it. Errors name file and line.
class TraceReader {
 public:
  explicit TraceReader(const dataset::CsvTable& table) : table_(table) {}

  // Called first: an error if the table is not a trace.
  [[nodiscard]] Result<void> find_columns();

  [[nodiscard]] Result<TraceJob> read(const dataset::CsvRow& row) const;

 private:
  [[nodiscard]] Result<double> within(const dataset::CsvRow& row,
                                      std::size_t column,
                                      double least,
                                      double most,
                                      std::string_view expected) const;

  // Empty for an empty field or a missing column.
  [[nodiscard]] Result<std::optional<double>> maybe(const dataset::CsvRow& row,
                                                    std::string_view name,
                                                    double most,
                                                    std::string_view expected) const;

  [[nodiscard]] Result<void> read_optional(const dataset::CsvRow& row, TraceJob& job) const;

  const dataset::CsvTable& table_;
  std::size_t submit_ = 0;
  std::size_t workload_ = 0;
  std::size_t time_ = 0;
  std::size_t peak_ = 0;
  bool minutes_ = false;
};

}  // namespace carpool::simulate
