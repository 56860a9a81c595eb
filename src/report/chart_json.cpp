#include "report/chart_json.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include <nlohmann/json.hpp>

namespace carpool::report {
namespace {

using nlohmann::json;

// NaN and infinity are not JSON: they become null.
json number(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

json optional_number(const std::optional<double>& value) {
  return value ? number(*value) : json(nullptr);
}

json interval(const Interval& spread) {
  return json::array({number(spread.low), number(spread.high)});
}

json quantity(const Quantity& one) {
  return {{"name", one.name}, {"unit", one.unit}, {"decimals", one.decimals}};
}

json numbers(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) {
    list.push_back(number(value));
  }
  return list;
}

json series_list(const std::vector<Series>& series) {
  json list = json::array();
  for (const Series& one : series) {
    json spread = json::array();
    for (const Interval& range : one.spread) {
      spread.push_back(interval(range));
    }
    list.push_back({{"name", one.name},
                    {"values", numbers(one.values)},
                    {"spread", std::move(spread)},
                    {"highlight", one.highlight}});
  }
  return list;
}

}  // namespace

json chart_json(const BarChart& chart) {
  json bars = json::array();
  for (const Bar& bar : chart.bars) {
    bars.push_back({{"label", bar.label},
                    {"value", number(bar.value)},
                    {"spread", bar.spread ? interval(*bar.spread) : json(nullptr)},
                    {"kind", bar.kind}});
  }
  json reference = nullptr;
  if (chart.reference) {
    reference = {{"value", number(chart.reference->value)}, {"label", chart.reference->label}};
  }
  return {{"type", "bar"},
          {"value", quantity(chart.value)},
          {"spreadName", chart.spread_name},
          {"kinds", chart.kinds},
          {"bars", std::move(bars)},
          {"reference", std::move(reference)}};
}

json chart_json(const GroupedBarChart& chart) {
  return {{"type", "grouped"},
          {"value", quantity(chart.value)},
          {"categories", chart.categories},
          {"series", series_list(chart.series)}};
}

json chart_json(const LineChart& chart) {
  return {{"type", "line"},
          {"x", quantity(chart.x)},
          {"y", quantity(chart.y)},
          {"xs", numbers(chart.xs)},
          {"series", series_list(chart.series)},
          {"yMin", optional_number(chart.y_min)},
          {"yMax", optional_number(chart.y_max)}};
}

json chart_json(const ScatterChart& chart) {
  json series = json::array();
  for (const ScatterSeries& one : chart.series) {
    json points = json::array();
    for (const ScatterPoint& point : one.points) {
      if (std::isfinite(point.measured) && std::isfinite(point.predicted) && point.measured > 0.0 &&
          point.predicted > 0.0) {
        points.push_back({{"label", point.label}, {"x", point.measured}, {"y", point.predicted}});
      }
    }
    series.push_back(
        {{"name", one.name}, {"points", std::move(points)}, {"highlight", one.highlight}});
  }
  return {{"type", "scatter"},
          {"value", quantity(chart.value)},
          {"series", std::move(series)},
          {"band", optional_number(chart.band)}};
}

json chart_json(const SlowdownMatrix& chart) {
  const std::size_t count = chart.workloads.size();
  json cells = json::array();
  for (const SlowdownCell& cell : chart.cells) {
    if (cell.workload < count && cell.beside < count) {
      cells.push_back(
          json::array({cell.workload, cell.beside, number(cell.predicted), number(cell.measured)}));
    }
  }
  return {{"type", "matrix"}, {"workloads", chart.workloads}, {"cells", std::move(cells)}};
}

}  // namespace carpool::report
