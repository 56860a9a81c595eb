#include "report/table_html.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "report/html.hpp"

namespace carpool::report {
namespace {

std::string open_scroll_table(std::string_view label, std::string_view table_class) {
  return fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\">"
      "<table class=\"{1}\">\n",
      escape_html(label),
      table_class);
}

constexpr std::string_view kCloseScrollTable = "</tbody></table></div>\n";

std::string heading_html(std::string_view heading, std::string_view unit, Align align) {
  const std::string unit_html =
      unit.empty() ? "" : fmt::format("<span class=\"unit\">{}</span>", escape_html(unit));
  return fmt::format("<th scope=\"col\"{}>{}{}</th>",
                     align == Align::Right ? " class=\"number\"" : "",
                     escape_html(heading),
                     unit_html);
}

std::string cell_text(const TableCell& cell, int decimals) {
  if (const auto* number = std::get_if<double>(&cell)) {
    return format_number(*number, decimals);
  }
  return escape_html(std::get<std::string>(cell));
}

std::string row_html(const TableRow& row, const std::vector<TableColumn>& columns) {
  std::string html = row.highlight ? "<tr class=\"highlight\">" : "<tr>";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const TableColumn& column = columns[i];
    const std::string text =
        i < row.cells.size() ? cell_text(row.cells[i], column.decimals) : std::string();
    const std::string_view align = column.align == Align::Right ? " class=\"number\"" : "";
    html += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", align, text)
                   : fmt::format("<td{}>{}</td>", align, text);
  }
  return html + "</tr>\n";
}

// Position of a value on the scale of its parameter.
double place(double value, Scale scale) {
  return scale == Scale::Logarithmic ? std::log(value) : value;
}

// The range of one parameter over all rows, including the neutral value.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    if (std::isfinite(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  // 0 … 100 from low to high.
  [[nodiscard]] double percent(double value) const {
    return high > low ? (value - low) / (high - low) * 100.0 : 0.0;
  }
};

std::vector<Range> parameter_ranges(const ParameterChart& chart) {
  std::vector<Range> ranges(chart.parameters.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Parameter& parameter = chart.parameters[i];
    ranges[i].include(place(parameter.neutral, parameter.scale));
    for (const ParameterRow& row : chart.rows) {
      if (i < row.values.size()) {
        ranges[i].include(place(row.values[i], parameter.scale));
      }
    }
  }
  return ranges;
}

std::string meter_html(double value, const Parameter& parameter, const Range& range) {
  const double at = place(value, parameter.scale);
  const double start = place(parameter.neutral, parameter.scale);
  std::string bar;
  if (std::isfinite(at) && std::isfinite(start)) {
    const double from = range.percent(std::min(at, start));
    const double to = range.percent(std::max(at, start));
    bar = fmt::format(
        "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"10\"/>"
        "<line class=\"neutral\" x1=\"{:.2f}\" x2=\"{:.2f}\" y1=\"-3\" y2=\"13\"/></svg>",
        at < start ? "below" : "above",
        from,
        to - from,
        range.percent(start),
        range.percent(start));
  }
  return fmt::format("<td class=\"meter\"><div><span>{}</span>{}</div></td>",
                     format_number(value, parameter.value.decimals),
                     bar);
}

std::string meanings_html(const std::vector<Parameter>& parameters) {
  std::string html = "<dl class=\"meanings\">\n";
  for (const Parameter& parameter : parameters) {
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n",
                        escape_html(parameter.value.name),
                        escape_html(parameter.meaning));
  }
  return html + "</dl>\n";
}

}  // namespace

std::string table_html(const ReportTable& table, std::string_view label) {
  std::string html = open_scroll_table(label, "sortable") + "<thead><tr>";
  for (const TableColumn& column : table.columns) {
    html += heading_html(column.heading, column.unit, column.align);
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const TableRow& row : table.rows) {
    html += row_html(row, table.columns);
  }
  return html.append(kCloseScrollTable);
}

std::string parameters_html(const ParameterChart& chart, std::string_view label) {
  std::string html = meanings_html(chart.parameters);
  html += open_scroll_table(label, "sortable parameters") + "<thead><tr>";
  html += heading_html("workload", "", Align::Left);
  for (const Parameter& parameter : chart.parameters) {
    html += heading_html(parameter.value.name, parameter.value.unit, Align::Left);
  }
  html += heading_html("in words", "", Align::Left) + "</tr></thead>\n<tbody>\n";
  const std::vector<Range> ranges = parameter_ranges(chart);
  for (const ParameterRow& row : chart.rows) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", escape_html(row.workload));
    for (std::size_t i = 0; i < chart.parameters.size(); ++i) {
      const double value = i < row.values.size() ? row.values[i] : kNoValue;
      html += meter_html(value, chart.parameters[i], ranges[i]);
    }
    html += fmt::format("<td class=\"words\">{}</td></tr>\n", escape_html(row.words));
  }
  return html.append(kCloseScrollTable);
}

}  // namespace carpool::report
