#include "app/output/text_table.hpp"

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

TEST(TextTable, ColourOnlyWhenAsked) {
  TextTable table(/*colour=*/true);
  table.add_column("x", TextTable::Align::Left);
  table.add_row({"1"}, /*highlight=*/true);
  EXPECT_NE(table.render().find("\033["), std::string::npos);
}

TEST(Output, NumbersKeepThreeDigits) {
  EXPECT_EQ(number(0.12345), "0.123");
  EXPECT_EQ(number(4.267), "4.27");
  EXPECT_EQ(number(98.34), "98.3");
  EXPECT_EQ(number(1204.4), "1204");
  EXPECT_EQ(percent(0.97891), "97.9");
  EXPECT_EQ(percent(std::nullopt), "-");
}

}  // namespace
}  // namespace carpool::app
