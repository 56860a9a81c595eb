// The rows of a trace's table as jobs: columns by any of their names, values within bounds.
// Internal to simulate/.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "dataset/csv.hpp"
#include "simulate/trace.hpp"

namespace carpool::simulate {

// The table must outlive it. Errors name file and line.
class TraceReader {
 public:
  explicit TraceReader(const dataset::CsvTable& table) : table_(table) {}

  // To be called first: an error where the table is no trace.
  [[nodiscard]] Result<void> find_columns();

  [[nodiscard]] Result<TraceJob> read(const dataset::CsvRow& row) const;

 private:
  [[nodiscard]] Result<double> within(const dataset::CsvRow& row,
                                      std::size_t column,
                                      double least,
                                      double most,
                                      std::string_view expected) const;

  // Empty fields and missing columns are not said.
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
