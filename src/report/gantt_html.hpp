// A Gantt chart as a drawing that needs no script.
#pragma once

#include <string>
#include <string_view>

#include "report/charts.hpp"

namespace carpool::report {

// `label` names it for those who cannot see it; the bars follow as a table.
[[nodiscard]] std::string gantt_html(const GanttChart& chart, std::string_view label);

}  // namespace carpool::report
