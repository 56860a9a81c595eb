// A small report with one figure of every kind, for the tests of this folder.
#pragma once

#include <string>

#include "report/report.hpp"

namespace carpool::report {

// `name` is used wherever a report shows text that came from outside.
inline Report sample_report(const std::string& name) {
  const Quantity score{.name = "score " + name, .unit = "%", .decimals = 1};
  const Quantity speed{.name = "throughput", .unit = "samples/s", .decimals = 2};
  BarChart bars{.value = score, .spread_name = "splits " + name, .kinds = {"ours", "rules"}};
  bars.bars = {{.label = name, .value = 98.76, .spread = Interval{.low = 97.31, .high = 99.42}},
               {.label = "sm-busy", .value = 35.43, .kind = 1}};
  bars.reference = ReferenceLine{.value = 100.0, .label = "oracle " + name};
  const Series series{.name = "line " + name, .values = {11.21, 12.31}, .highlight = true};
  const GroupedBarChart grouped{
      .category_name = "target", .value = score, .categories = {name, "b"}, .series = {series}};
  LineChart lines{.x = {.name = "size", .unit = "", .decimals = 0}, .y = score, .xs = {2, 3}};
  lines.series = {series};
  lines.y_min = 10.0;
  ScatterChart scatter{.value = speed, .series = {{.name = "sum " + name}}, .band = 0.2};
  scatter.series[0].points = {{.label = name, .measured = 50.25, .predicted = 55.75}};
  const SlowdownMatrix matrix{
      .workloads = {name, "b"},
      .cells = {{.workload = 0, .beside = 1, .predicted = 1.43, .measured = 1.37}}};
  const ParameterChart parameters{
      .parameters = {{.value = speed, .meaning = "solo speed " + name}},
      .rows = {{.workload = name, .values = {77.25}, .words = "light " + name}}};
  const ReportTable table{.columns = {{.heading = name, .unit = name, .align = Align::Left},
                                      {.heading = "value", .unit = "%"}},
                          .rows = {{{name, 12.5}}}};
  Report report{.title = "Title " + name, .subtitle = name};
  report.key_figures = {{.value = "98.8 %", .label = name, .detail = name}};
  report.provenance = {{.name = name, .value = name}};
  ReportSection section{.heading = name, .paragraphs = {name, "plain"}};
  section.figures = {{.title = name, .caption = name, .content = bars},
                     {.title = "Grouped", .caption = "", .content = grouped},
                     {.title = "Lines", .caption = "Lines.", .content = lines},
                     {.title = "Scatter", .caption = "Scatter.", .content = scatter},
                     {.title = "Matrix", .caption = "Matrix.", .content = matrix},
                     {.title = "Parameters", .caption = "Parameters.", .content = parameters},
                     {.title = "Table", .caption = "Table.", .content = table}};
  report.sections = {section};
  return report;
}

}  // namespace carpool::report
