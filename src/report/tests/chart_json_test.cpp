#include "report/chart_json.hpp"

#include <limits>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::report {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ChartJson, ValuesThatAreNotNumbersBecomeNull) {
  BarChart chart{.value = {.name = "score", .unit = "%"}, .spread_name = "", .kinds = {}};
  chart.bars = {{.label = "a", .value = kNoValue, .spread = Interval{.low = -kInfinity, .high = 2}},
                {.label = "b", .value = kInfinity}};
  const auto bars = chart_json(chart)["bars"];
  EXPECT_TRUE(bars[0]["value"].is_null());
  EXPECT_TRUE(bars[0]["spread"][0].is_null());
  EXPECT_EQ(bars[0]["spread"][1], 2.0);
  EXPECT_TRUE(bars[1]["value"].is_null());
  EXPECT_TRUE(bars[1]["spread"].is_null());
}

TEST(ChartJson, SeriesKeepTheirGaps) {
  LineChart chart{.x = {.name = "size", .unit = ""}, .y = {.name = "score", .unit = "%"}};
  chart.xs = {2, 3};
  chart.series = {{.name = "ours", .values = {1.5, kNoValue}}};
  const auto values = chart_json(chart)["series"][0]["values"];
  EXPECT_EQ(values[0], 1.5);
  EXPECT_TRUE(values[1].is_null());
}

TEST(ChartJson, LogarithmicAxesGetPositivePointsOnly) {
  ScatterChart chart{.value = {.name = "throughput", .unit = "samples/s"},
                     .series = {{.name = "sum"}}};
  chart.series[0].points = {{.label = "good", .measured = 2.0, .predicted = 3.0},
                            {.label = "zero", .measured = 0.0, .predicted = 3.0},
                            {.label = "negative", .measured = 2.0, .predicted = -1.0},
                            {.label = "missing", .measured = kNoValue, .predicted = 1.0}};
  const auto points = chart_json(chart)["series"][0]["points"];
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0]["label"], "good");
}

TEST(ChartJson, MatrixPassesOverCellsOutsideIt) {
  const SlowdownMatrix chart{.workloads = {"a", "b"},
                             .cells = {{.workload = 1, .beside = 0, .predicted = 1.4},
                                       {.workload = 2, .beside = 0, .predicted = 9.9}}};
  const auto cells = chart_json(chart)["cells"];
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0], nlohmann::json::parse("[1, 0, 1.4, null]"));
}

}  // namespace
}  // namespace carpool::report
