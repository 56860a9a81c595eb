#include "report/gantt_html.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "report/html.hpp"
#include "report/report.hpp"
#include "report/table_html.hpp"

namespace carpool::report {
namespace {

constexpr double kLeft = 70.0;
constexpr double kWidth = 1000.0;
constexpr double kRow = 13.0;
constexpr double kLaneGap = 8.0;
constexpr double kTop = 6.0;
constexpr double kAxis = 22.0;
constexpr std::size_t kColours = 5;
constexpr std::size_t kMostRows = 400;  // of the data table

struct Lane {
  std::vector<std::size_t> bars{};  // ordered by start
  std::vector<std::size_t> row{};   // of each bar
  std::size_t rows = 1;
};

// Places each bar in the first row that is free at its start.
Lane stack(const GanttChart& chart, std::size_t lane) {
  Lane made;
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    if (chart.bars[i].lane == lane) {
      made.bars.push_back(i);
    }
  }
  std::ranges::sort(made.bars, {}, [&](std::size_t i) { return std::pair(chart.bars[i].from, i); });
  std::vector<double> free_from;
  for (const std::size_t i : made.bars) {
    const auto found =
        std::ranges::find_if(free_from, [&](double from) { return from <= chart.bars[i].from; });
    const auto row = static_cast<std::size_t>(found - free_from.begin());
    if (found == free_from.end()) {
      free_from.push_back(0.0);
    }
    free_from[row] = chart.bars[i].to;
    made.row.push_back(row);
  }
  made.rows = std::max<std::size_t>(free_from.size(), 1);
  return made;
}

// 1, 2 or 5 times a power of ten, for about eight ticks.
double tick_step(double length) {
  const double rough = std::max(length, 1e-9) / 8.0;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= rough) {
      return step * power;
    }
  }
  return 10.0 * power;
}

std::string legend(const GanttChart& chart) {
  std::string html = "<div class=\"chart-tools gantt\">";
  for (std::size_t i = 0; i < chart.kinds.size(); ++i) {
    html += fmt::format(
        "<span class=\"blank-key\"><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><rect "
        "class=\"kind-{}\" width=\"14\" height=\"14\"/></svg>{}</span>",
        i % kColours,
        escape_html(chart.kinds[i]));
  }
  return html + "</div>\n";
}

std::string bar_table(const GanttChart& chart, std::string_view label) {
  ReportTable table;
  table.columns = {{.heading = "bar", .align = Align::Left},
                   {.heading = "lane", .align = Align::Left},
                   {.heading = "from", .unit = chart.time.unit, .decimals = chart.time.decimals},
                   {.heading = "to", .unit = chart.time.unit, .decimals = chart.time.decimals}};
  for (std::size_t i = 0; i < std::min(chart.bars.size(), kMostRows); ++i) {
    const GanttBar& bar = chart.bars[i];
    const std::string where = bar.lane < chart.lanes.size() ? chart.lanes[bar.lane] : "";
    table.rows.push_back({.cells = {bar.label, where, bar.from, bar.to}});
  }
  return fmt::format("<details><summary>Show the data</summary>\n{}</details>\n",
                     table_html(table, fmt::format("Data: {}", label)));
}

}  // namespace

std::string gantt_html(const GanttChart& chart, std::string_view label) {
  double last = 0.0;
  for (const GanttBar& bar : chart.bars) {
    last = std::max(last, bar.to);
  }
  const double scale = last > 0.0 ? kWidth / last : 0.0;
  std::string drawn;
  double y = kTop;
  for (std::size_t lane = 0; lane < chart.lanes.size(); ++lane) {
    const Lane stacked = stack(chart, lane);
    const double height = kRow * static_cast<double>(stacked.rows);
    drawn += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                         kLeft - 8.0,
                         y + height / 2.0 + 4.0,
                         escape_html(chart.lanes[lane]));
    for (std::size_t i = 0; i < stacked.bars.size(); ++i) {
      const GanttBar& bar = chart.bars[stacked.bars[i]];
      drawn += fmt::format(
          "<rect class=\"kind-{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
          "<title>{}</title></rect>\n",
          bar.kind % kColours,
          kLeft + scale * bar.from,
          y + kRow * static_cast<double>(stacked.row[i]),
          std::max(scale * (bar.to - bar.from), 0.6),
          kRow - 1.0,
          escape_html(bar.label));
    }
    y += height + kLaneGap;
  }
  std::string grid;
  const double step = tick_step(last);
  for (double tick = 0.0; tick <= last; tick += step) {
    const double x = kLeft + scale * tick;
    grid += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1:.0f}\"/>"
        "<text x=\"{0:.1f}\" y=\"{2:.0f}\" text-anchor=\"middle\">{3}</text>\n",
        x,
        y,
        y + kAxis - 6.0,
        escape_html(format_with_unit(tick, chart.time.decimals, chart.time.unit)));
  }
  return fmt::format(
      "{}<div class=\"scroll gantt\"><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n{}{}</svg></div>\n{}",
      legend(chart),
      kLeft + kWidth + 40.0,
      y + kAxis,
      escape_html(
          fmt::format("{}: {} bars on {} lanes", label, chart.bars.size(), chart.lanes.size())),
      grid,
      drawn,
      bar_table(chart, label));
}

}  // namespace carpool::report
