// The charts of a report as plain data. Values have the unit that is shown (a score of 98.8 %, not
// 0.988). NaN and infinity mean "no value". Every member has an initialiser, so that designated
// initialisers may omit it.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/forecast.hpp"

namespace carpool::report {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// The quantity of an axis or a column.
struct Quantity {
  std::string name{};  // "score"
  std::string unit{};  // "%", "samples/s", "×"; empty: a pure number
  int decimals = 1;    // in tables and tooltips
};

struct Bar {
  std::string label{};
  double value = kNoValue;
  std::optional<Interval> spread{};  // whisker, such as worst and best train/test split
  std::size_t kind = 0;              // index into BarChart::kinds
};

struct ReferenceLine {
  double value = 0.0;
  std::string label{};
};

// Horizontal bars from zero, in the order given.
struct BarChart {
  Quantity value{};
  std::string spread_name{};         // what a whisker spans: "worst and best run"
  std::vector<std::string> kinds{};  // legend of the colours; the first one is emphasised
  std::vector<Bar> bars{};
  std::optional<ReferenceLine> reference{};
};

struct Series {
  std::string name{};
  std::vector<double> values{};    // one for each category or x
  std::vector<Interval> spread{};  // the same length, or empty
  bool highlight = false;          // drawn in the accent colour
};

// Horizontal bars from zero, one group of bars per category with one bar per series.
struct GroupedBarChart {
  std::string category_name{};  // "target"
  Quantity value{};
  std::vector<std::string> categories{};
  std::vector<Series> series{};
};

struct LineChart {
  Quantity x{};
  Quantity y{};
  std::vector<double> xs{};
  std::vector<Series> series{};
  std::optional<double> y_min{};  // unset: the axis starts at zero; set: the caption says so
  std::optional<double> y_max{};
};

struct ScatterPoint {
  std::string label{};  // members of the group, shown in the tooltip
  double measured = kNoValue;
  double predicted = kNoValue;
};

struct ScatterSeries {
  std::string name{};
  std::vector<ScatterPoint> points{};
  bool highlight = false;
};

// Predicted against measured on logarithmic axes, with the line where both are equal. Values that
// are not positive are shown in the data table only.
struct ScatterChart {
  Quantity value{};
  std::vector<ScatterSeries> series{};
  std::optional<double>
      band{};  // 0.2 shades where the prediction is within 20 % of the measurement
};

struct SlowdownCell {
  std::size_t workload = 0;  // that slows down; index into SlowdownMatrix::workloads
  std::size_t beside = 0;    // the workload beside it
  double predicted = kNoValue;
  double measured = kNoValue;
};

// Heat map: how many times slower each workload runs beside each other one. Missing cells are
// blank; cells with an index outside `workloads` are skipped.
struct SlowdownMatrix {
  std::vector<std::string> workloads{};
  std::vector<SlowdownCell> cells{};
};

enum class Scale { Linear, Logarithmic };

struct Parameter {
  Quantity value{};
  std::string meaning{};  // one plain sentence
  Scale scale = Scale::Linear;
  double neutral = 0.0;  // bars grow from here; 1 is usual on a logarithmic scale
};

struct ParameterRow {
  std::string workload{};
  std::vector<double> values{};  // one for each parameter
  std::string words{};           // their meaning: "light, leaves most of the GPU idle"
};

// Fitted parameters of each workload: a table with a bar in every cell.
struct ParameterChart {
  std::vector<Parameter> parameters{};
  std::vector<ParameterRow> rows{};
};

struct GanttBar {
  std::size_t lane = 0;  // index into GanttChart::lanes
  double from = 0.0;
  double to = 0.0;
  std::string label{};   // shown on hover
  std::size_t kind = 0;  // index into GanttChart::kinds
};

// Intervals in lanes. Bars of one lane that overlap are placed below each other.
struct GanttChart {
  Quantity time{};
  std::vector<std::string> lanes{};
  std::vector<std::string> kinds{};  // legend of the colours
  std::vector<GanttBar> bars{};
};

}  // namespace carpool::report
