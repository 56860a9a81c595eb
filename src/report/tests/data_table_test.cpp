#include "report/data_table.hpp"

#include <cmath>
#include <string>
#include <variant>

#include <gtest/gtest.h>

namespace carpool::report {
namespace {

double number(const ReportTable& table, std::size_t row, std::size_t column) {
  return std::get<double>(table.rows.at(row).cells.at(column));
}

std::string text(const ReportTable& table, std::size_t row, std::size_t column) {
  return std::get<std::string>(table.rows.at(row).cells.at(column));
}

TEST(DataTable, BarsShowTheirSpreadOnlyWhereThereIsOne) {
  BarChart chart{.value = {.name = "score", .unit = "%"},
                 .spread_name = "worst and best of all splits",
                 .kinds = {"ours"}};
  chart.bars = {{.label = "a", .value = 3.0}};
  EXPECT_EQ(data_table(chart).columns.size(), 3U);
  chart.bars.push_back({.label = "b", .value = 2.0, .spread = Interval{.low = 1.0, .high = 4.0}});
  const ReportTable table = data_table(chart);
  ASSERT_EQ(table.columns.size(), 5U);
  EXPECT_EQ(table.columns[3].heading, "worst and best of all splits, from");
  EXPECT_TRUE(std::isnan(number(table, 0, 3)));
  EXPECT_EQ(number(table, 1, 3), 1.0);
  EXPECT_EQ(number(table, 1, 4), 4.0);
}

TEST(DataTable, ShortSeriesLeaveGaps) {
  GroupedBarChart chart{.category_name = "target", .value = {.name = "score", .unit = "%"}};
  chart.categories = {"a", "b"};
  chart.series = {{.name = "ours", .values = {1.0}}};
  const ReportTable table = data_table(chart);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(number(table, 0, 1), 1.0);
  EXPECT_TRUE(std::isnan(number(table, 1, 1)));
}

// error = predicted / measured - 1: 55 / 50 - 1 = 10 %.
TEST(DataTable, ScatterGivesTheRelativeError) {
  ScatterChart chart{.value = {.name = "throughput", .unit = "samples/s"},
                     .series = {{.name = "sum"}}};
  chart.series[0].points = {{.label = "a + b", .measured = 50.0, .predicted = 55.0},
                            {.label = "idle", .measured = 0.0, .predicted = 1.0}};
  const ReportTable table = data_table(chart);
  EXPECT_NEAR(number(table, 0, 4), 10.0, 1e-9);
  EXPECT_FALSE(std::isfinite(number(table, 1, 4)));
}

TEST(DataTable, MatrixShowsPredictedAndMeasuredInOneCell) {
  const SlowdownMatrix chart{
      .workloads = {"a", "b"},
      .cells = {{.workload = 0, .beside = 1, .predicted = 1.43, .measured = 1.4},
                {.workload = 1, .beside = 0, .predicted = 2.0},
                {.workload = 0, .beside = 7, .predicted = 9.0}}};
  const ReportTable table = data_table(chart);
  EXPECT_EQ(text(table, 0, 2), "1.43 (1.40)");
  EXPECT_EQ(text(table, 1, 1), "2.00 (–)");
  EXPECT_EQ(text(table, 0, 1), "–");
}

TEST(DataTable, BarsAreDescribedByTheirExtremes) {
  BarChart chart{.value = {.name = "score", .unit = "%"}, .spread_name = "", .kinds = {}};
  EXPECT_EQ(describe(chart), "Bar chart of score for 0 entries.");
  chart.bars = {{.label = "a", .value = 35.4}, {.label = "b", .value = 98.8}, {.label = "c"}};
  EXPECT_EQ(describe(chart),
            "Bar chart of score for 3 entries: highest b with 98.8 %, lowest a with 35.4 %.");
}

}  // namespace
}  // namespace carpool::report
