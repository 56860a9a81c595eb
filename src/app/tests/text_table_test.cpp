#include "app/output/text_table.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "app/cli/output.hpp"

namespace carpool::app {
namespace {

TEST(TextTable, NumbersStandRightAndTextLeft) {
  TextTable table(/*colour=*/false);
  table.add_column("name", TextTable::Align::Left);
  table.add_column("x", TextTable::Align::Right);
  table.add_row({"a", "1"});
  table.add_row({"long name", "100"});
  EXPECT_EQ(table.render(), "name         x\na            1\nlong name  100\n");
}

TEST(TextTable, WidthCountsCharactersNotBytes) {
  EXPECT_EQ(display_width("R²"), 2U);
  TextTable table(/*colour=*/false);
  table.add_column("R²", TextTable::Align::Right);
  table.add_row({"1"});
  EXPECT_EQ(table.render(), "R²\n 1\n");
}

TEST(TextTable, ColoursMarkTheHeadingAndHighlightedRows) {
  TextTable table(/*colour=*/true);
  table.add_column("x", TextTable::Align::Left);
  table.add_row({"1"}, /*highlight=*/true);
  table.add_row({"2"});
  EXPECT_EQ(table.render(), "\033[2mx\033[0m\n\033[1;32m1\033[0m\n2\n");
}

TEST(TextTable, TextIsCutByCharactersNotBytes) {
  EXPECT_EQ(first_columns("52 °C", 4), "52 °");
  EXPECT_EQ(first_columns("ab", 5), "ab");
  EXPECT_EQ(first_columns("ab", 0), "");
}

TEST(TextTable, GibNumbersHaveFixedDecimalsAndNoUnit) {
  constexpr std::uint64_t kBytes = (std::uint64_t{12} << 30U) + (std::uint64_t{1} << 28U);
  EXPECT_EQ(gib_number(kBytes), "12.2");  // 12.25 to even
  EXPECT_EQ(gib_number(kBytes, 2), "12.25");
  EXPECT_EQ(gib_number(0), "0.0");
}

TEST(Output, NumbersKeepThreeDigits) {
  EXPECT_EQ(number(0.12345), "0.123");
  EXPECT_EQ(number(4.267), "4.27");
  EXPECT_EQ(number(98.34), "98.3");
  EXPECT_EQ(number(1204.4), "1204");
  EXPECT_EQ(number(2.5e9), "2.5e+09");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "-");
  EXPECT_EQ(percent(0.97891), "97.9");
  EXPECT_EQ(percent(1e30), "1e+32");
  EXPECT_EQ(percent(std::nullopt), "-");
}

TEST(TextTable, ShowsTextFromOutsideInOneLine) {
  TextTable table(/*colour=*/false);
  table.add_column("name", TextTable::Align::Left);
  table.add_column("n", TextTable::Align::Right);
  table.add_row({"a\nb\033[2J", "1"});
  EXPECT_EQ(table.render(), "name         n\na\\nb\\x1b[2J  1\n");
}

}  // namespace
}  // namespace carpool::app
