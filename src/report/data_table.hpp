// Every chart as a table and as a sentence: for screen readers, for browsers without JavaScript,
// and for copying into a spreadsheet.
#pragma once

#include <string>

#include "report/report.hpp"

namespace carpool::report {

[[nodiscard]] ReportTable data_table(const BarChart& chart);
[[nodiscard]] ReportTable data_table(const GroupedBarChart& chart);
[[nodiscard]] ReportTable data_table(const LineChart& chart);
[[nodiscard]] ReportTable data_table(const ScatterChart& chart);
[[nodiscard]] ReportTable data_table(const SlowdownMatrix& chart);

[[nodiscard]] std::string describe(const BarChart& chart);
[[nodiscard]] std::string describe(const GroupedBarChart& chart);
[[nodiscard]] std::string describe(const LineChart& chart);
[[nodiscard]] std::string describe(const ScatterChart& chart);
[[nodiscard]] std::string describe(const SlowdownMatrix& chart);

}  // namespace carpool::report
