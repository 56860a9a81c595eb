// Results as one self-contained HTML page with charts. The page loads nothing, so that the file can
// be mailed, archived and opened offline. The caller fills plain data; all text is escaped here.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "report/charts.hpp"

namespace carpool::report {

enum class Align { Left, Right };

struct TableColumn {
  std::string heading{};
  std::string unit{};  // shown under the heading; empty: none
  Align align = Align::Right;
  int decimals = 1;  // of numbers in this column
};

using TableCell = std::variant<std::string, double>;  // NaN and infinity are shown as a dash

struct TableRow {
  std::vector<TableCell> cells{};
  bool highlight = false;
};

struct ReportTable {
  std::vector<TableColumn> columns{};
  std::vector<TableRow> rows{};
};

using FigureContent = std::variant<BarChart,
                                   GroupedBarChart,
                                   LineChart,
                                   ScatterChart,
                                   SlowdownMatrix,
                                   ParameterChart,
                                   GanttChart,
                                   ReportTable>;

struct Figure {
  std::string title{};
  std::string caption{};  // one or two sentences
  FigureContent content{};
};

struct ReportSection {
  std::string heading{};
  std::vector<std::string> paragraphs{};
  std::vector<Figure> figures{};
};

// A main result, shown large at the top.
struct KeyFigure {
  std::string value{};   // "98.8 %"
  std::string label{};   // "of the best possible throughput"
  std::string detail{};  // "KACE: 90.6 %"; may be empty
};

struct Fact {
  std::string name{};  // "GPU"
  std::string value{};
};

struct Report {
  std::string title{};
  std::string subtitle{};
  std::vector<KeyFigure> key_figures{};
  std::vector<ReportSection> sections{};
  std::vector<Fact> provenance{};  // GPU, driver, dataset, version, date, command: shown at the end
};

// The whole page. Equal reports give equal bytes.
[[nodiscard]] std::string render_html(const Report& report);

}  // namespace carpool::report
