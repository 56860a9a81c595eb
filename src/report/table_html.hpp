// Tables as HTML.
#pragma once

#include <string>
#include <string_view>

#include "report/report.hpp"

namespace carpool::report {

// A table that scrolls horizontally; `label` names it for screen readers.
[[nodiscard]] std::string table_html(const ReportTable& table, std::string_view label);

// The meanings of the parameters, and a table with a bar in every cell.
[[nodiscard]] std::string parameters_html(const ParameterChart& chart, std::string_view label);

}  // namespace carpool::report
