// A Gantt chart as SVG, without a script.
#pragma once

#include <string>
#include <string_view>

#include "report/charts.hpp"

namespace carpool::report {

// `label` names the chart for screen readers. The bars follow as a table.
[[nodiscard]] std::string gantt_html(const GanttChart& chart, std::string_view label);

}  // namespace carpool::report
