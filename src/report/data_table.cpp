#include "report/data_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/html.hpp"

namespace carpool::report {
namespace {

constexpr int kSlowdownDecimals = 2;

TableColumn text_column(std::string heading) {
  return {.heading = std::move(heading), .unit = "", .align = Align::Left};
}

TableColumn number_column(std::string heading, const Quantity& quantity) {
  return {.heading = std::move(heading), .unit = quantity.unit, .decimals = quantity.decimals};
}

double value_at(const std::vector<double>& values, std::size_t index) {
  return index < values.size() ? values[index] : kNoValue;
}

// One column per series, and two more if it has a spread.
void add_series_columns(ReportTable& table, const std::vector<Series>& series, const Quantity& y) {
  for (const Series& one : series) {
    table.columns.push_back(number_column(one.name, y));
    if (!one.spread.empty()) {
      table.columns.push_back(number_column(one.name + ", from", y));
      table.columns.push_back(number_column(one.name + ", to", y));
    }
  }
}

void add_series_cells(TableRow& row, const std::vector<Series>& series, std::size_t index) {
  for (const Series& one : series) {
    row.cells.emplace_back(value_at(one.values, index));
    if (!one.spread.empty()) {
      const bool known = index < one.spread.size();
      row.cells.emplace_back(known ? one.spread[index].low : kNoValue);
      row.cells.emplace_back(known ? one.spread[index].high : kNoValue);
    }
  }
}

std::vector<std::string_view> names_of(const std::vector<Series>& series) {
  std::vector<std::string_view> names;
  names.reserve(series.size());
  for (const Series& one : series) {
    names.emplace_back(one.name);
  }
  return names;
}

}  // namespace

ReportTable data_table(const BarChart& chart) {
  ReportTable table;
  const bool has_spread =
      std::ranges::any_of(chart.bars, [](const Bar& bar) { return bar.spread.has_value(); });
  table.columns = {
      text_column("name"), text_column("kind"), number_column(chart.value.name, chart.value)};
  if (has_spread) {
    const std::string spread = chart.spread_name.empty() ? "spread" : chart.spread_name;
    table.columns.push_back(number_column(fmt::format("{}, from", spread), chart.value));
    table.columns.push_back(number_column(fmt::format("{}, to", spread), chart.value));
  }
  for (const Bar& bar : chart.bars) {
    TableRow row;
    row.highlight = bar.kind == 0;
    row.cells = {bar.label,
                 bar.kind < chart.kinds.size() ? chart.kinds[bar.kind] : std::string(),
                 bar.value};
    if (has_spread) {
      row.cells.emplace_back(bar.spread ? bar.spread->low : kNoValue);
      row.cells.emplace_back(bar.spread ? bar.spread->high : kNoValue);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable data_table(const GroupedBarChart& chart) {
  ReportTable table;
  table.columns = {text_column(chart.category_name)};
  add_series_columns(table, chart.series, chart.value);
  for (std::size_t i = 0; i < chart.categories.size(); ++i) {
    TableRow row;
    row.cells = {chart.categories[i]};
    add_series_cells(row, chart.series, i);
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable data_table(const LineChart& chart) {
  ReportTable table;
  table.columns = {number_column(chart.x.name, chart.x)};
  add_series_columns(table, chart.series, chart.y);
  for (std::size_t i = 0; i < chart.xs.size(); ++i) {
    TableRow row;
    row.cells = {chart.xs[i]};
    add_series_cells(row, chart.series, i);
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable data_table(const ScatterChart& chart) {
  ReportTable table;
  table.columns = {text_column("group"),
                   text_column("series"),
                   number_column("measured", chart.value),
                   number_column("predicted", chart.value),
                   {.heading = "error", .unit = "%"}};
  for (const ScatterSeries& series : chart.series) {
    for (const ScatterPoint& point : series.points) {
      const double error = (point.predicted / point.measured - 1.0) * 100.0;
      table.rows.push_back({{point.label, series.name, point.measured, point.predicted, error}});
    }
  }
  return table;
}

ReportTable data_table(const SlowdownMatrix& chart) {
  ReportTable table;
  const std::size_t count = chart.workloads.size();
  table.columns = {text_column("workload, beside →")};
  for (const std::string& workload : chart.workloads) {
    table.columns.push_back({.heading = workload, .unit = ""});
    table.rows.push_back({{workload}});
    table.rows.back().cells.resize(count + 1, std::string("–"));
  }
  for (const SlowdownCell& cell : chart.cells) {
    if (cell.workload < count && cell.beside < count) {
      table.rows[cell.workload].cells[cell.beside + 1] =
          fmt::format("{} ({})",
                      format_number(cell.predicted, kSlowdownDecimals),
                      format_number(cell.measured, kSlowdownDecimals));
    }
  }
  return table;
}

std::string describe(const BarChart& chart) {
  const Bar* lowest = nullptr;
  const Bar* highest = nullptr;
  for (const Bar& bar : chart.bars) {
    if (!std::isfinite(bar.value)) {
      continue;
    }
    lowest = lowest == nullptr || bar.value < lowest->value ? &bar : lowest;
    highest = highest == nullptr || bar.value > highest->value ? &bar : highest;
  }
  std::string text =
      fmt::format("Bar chart of {} for {} entries", chart.value.name, chart.bars.size());
  if (highest == nullptr) {
    return text + ".";
  }
  const auto shown = [&chart](const Bar& bar) {
    return format_with_unit(bar.value, chart.value.decimals, chart.value.unit);
  };
  return fmt::format("{}: highest {} with {}, lowest {} with {}.",
                     text,
                     highest->label,
                     shown(*highest),
                     lowest->label,
                     shown(*lowest));
}

std::string describe(const GroupedBarChart& chart) {
  return fmt::format("Grouped bar chart of {} for {} entries by {}: {}.",
                     chart.value.name,
                     chart.categories.size(),
                     chart.category_name,
                     fmt::join(names_of(chart.series), ", "));
}

std::string describe(const LineChart& chart) {
  return fmt::format("Line chart of {} by {}: {}.",
                     chart.y.name,
                     chart.x.name,
                     fmt::join(names_of(chart.series), ", "));
}

std::string describe(const ScatterChart& chart) {
  std::size_t points = 0;
  for (const ScatterSeries& series : chart.series) {
    points += series.points.size();
  }
  return fmt::format(
      "Scatter chart of predicted against measured {}, {} points.", chart.value.name, points);
}

std::string describe(const SlowdownMatrix& chart) {
  return fmt::format(
      "Heat map of how many times slower each of {} workloads runs beside each other one.",
      chart.workloads.size());
}

}  // namespace carpool::report
