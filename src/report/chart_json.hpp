// The data of a chart for the scripts of page/. A missing number is null.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/charts.hpp"

namespace carpool::report {

[[nodiscard]] nlohmann::json chart_json(const BarChart& chart);
[[nodiscard]] nlohmann::json chart_json(const GroupedBarChart& chart);
[[nodiscard]] nlohmann::json chart_json(const LineChart& chart);
[[nodiscard]] nlohmann::json chart_json(const ScatterChart& chart);
[[nodiscard]] nlohmann::json chart_json(const SlowdownMatrix& chart);

}  // namespace carpool::report
