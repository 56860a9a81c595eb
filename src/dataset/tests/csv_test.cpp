#include "dataset/csv.hpp"

#include <string>

#include <gtest/gtest.h>

namespace carpool::dataset {
namespace {

std::string csv_error(std::string_view text) {
  const auto table = parse_csv(text, "t.csv");
  return table ? "" : table.error().message;
}

TEST(Csv, ReadsHeaderAndRowsWithTheirLines) {
  const auto table = parse_csv("a,b\n1,2\n3,\n", "t.csv");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->header, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_EQ(table->rows[1].line, 3U);
  EXPECT_EQ(table->rows[1].fields, (std::vector<std::string>{"3", ""}));
}

TEST(Csv, ByteOrderMarkWindowsLineEndsAndBlankLinesAtTheEndChangeNothing) {
  const auto plain = parse_csv("a,b\n1,2", "t.csv");
  const auto windows = parse_csv(
      "\xEF\xBB\xBF"
      "a,b\r\n1,2\r\n\r\n\n",
      "t.csv");
  ASSERT_TRUE(plain.has_value());
  ASSERT_TRUE(windows.has_value()) << windows.error().message;
  EXPECT_EQ(windows->header, plain->header);
  ASSERT_EQ(windows->rows.size(), 1U);
  EXPECT_EQ(windows->rows[0].fields, plain->rows[0].fields);
}

TEST(Csv, QuotedFieldsHoldCommasQuotesAndLineEnds) {
  const auto table = parse_csv("a,\"b\"\n\"x,\"\"y\"\"\",\"two\nlines\"\r\n\"z\",1\n", "t.csv");
  ASSERT_TRUE(table.has_value()) << table.error().message;
  EXPECT_EQ(table->header[1], "b");
  EXPECT_EQ(table->rows[0].fields[0], "x,\"y\"");
  EXPECT_EQ(table->rows[0].fields[1], "two\nlines");
  EXPECT_EQ(table->rows[1].line, 4U);
}

TEST(Csv, LastRowNeedsNoLineEnd) {
  for (const char* text : {"a,b\n1,", "a,b\n1,\"\"", "a,b\n1,\r"}) {
    const auto table = parse_csv(text, "t.csv");
    ASSERT_TRUE(table.has_value()) << table.error().message;
    ASSERT_EQ(table->rows.size(), 1U);
    EXPECT_EQ(table->rows[0].fields, (std::vector<std::string>{"1", ""}));
  }
}

TEST(Csv, RaggedRowNamesFileLineAndBothCounts) {
  EXPECT_EQ(csv_error("a,b\n1,2\n3\n"),
            "t.csv:3: the row has 1 fields; the header names 2 columns");
  EXPECT_EQ(csv_error("a,b\n1,2,3\n"), "t.csv:2: the row has 3 fields; the header names 2 columns");
}

TEST(Csv, EmptyTextIsRefused) {
  for (const char* text : {"", "\n", "\r\n\n", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(csv_error(text), "t.csv is empty; expected a header row");
  }
}

TEST(Csv, HeaderNamesMustBeThereAndDiffer) {
  EXPECT_EQ(csv_error("a,b,a\n"), "t.csv:1: column \"a\" appears twice, in places 1 and 3");
  EXPECT_EQ(csv_error("a,,c\n"), "t.csv:1: column 2 of 3 has no name in the header row");
}

TEST(Csv, BlankLineBetweenRowsIsRefused) {
  EXPECT_EQ(csv_error("a,b\n1,2\n\n3,4\n"),
            "t.csv:3: blank line between rows; only the end of a file may have them");
}

TEST(Csv, BrokenQuotesAreRefusedWhereTheyBegin) {
  EXPECT_EQ(csv_error("a\n\"x\ny"), "t.csv:2: a quote is opened here and never closed");
  EXPECT_EQ(csv_error("a\n\"x\"y\n"),
            "t.csv:2: text follows a closing quote; expected a comma or the end of the line");
  EXPECT_NE(csv_error("a\nx\"y\n").find("t.csv:2: \"x\"y\" has a quote inside"), std::string::npos);
}

TEST(Csv, BytesThatAreNoTextAreRefusedWithTheirLine) {
  EXPECT_EQ(csv_error(std::string_view("a\n1\n\0", 5)),
            "t.csv:3: control character 0x00; expected UTF-8 text");
  // Latin-1 é; an overlong slash; a surrogate; past U+10FFFF; a sequence that the end cuts.
  for (const char* bytes : {"\xE9", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    EXPECT_NE(csv_error(std::string("a\n") + bytes).find("t.csv:2: byte 0x"), std::string::npos);
  }
  EXPECT_EQ(csv_error("a\n\xC3\xA9\xE2\x82\xAC\xF0\x9F\x9A\x97\n"), "");
}

TEST(Csv, MissingColumnListsWhatWasFound) {
  const auto table = parse_csv("a,b\n", "t.csv");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->require("b"), 1U);
  EXPECT_EQ(table->require("c").error().message, "t.csv:1: column c is missing; found a, b");
}

TEST(Csv, NumbersAreFiniteAndFillTheField) {
  EXPECT_EQ(parse_number("-1.5e3"), -1500.0);
  for (const char* text : {"", "nan", "inf", "-inf", "1e999", "1 ", " 1", "1,5", "0x10", "1.5x"}) {
    EXPECT_FALSE(parse_number(text).has_value()) << text;
  }
}

TEST(Csv, NumberErrorsNameFileLineAndColumn) {
  const auto table = parse_csv("a,thr\nx,1\ny,abc\n", "t.csv");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->number(table->rows[1], 1, "a throughput in units/s").error().message,
            "t.csv:3: column thr: \"abc\" is not a number; expected a throughput in units/s");
  EXPECT_EQ(table->integer(table->rows[1], 1, "a whole number").error().message,
            "t.csv:3: column thr: \"abc\" is not a whole number");
}

TEST(Csv, IntegersKeepTheirBounds) {
  const auto table = parse_csv("n\n0\n7\n7.0\n9999999999999999999\n", "t.csv");
  ASSERT_TRUE(table.has_value());
  EXPECT_FALSE(table->integer(table->rows[0], 0, "1 to 7", 1, 7).has_value());
  EXPECT_EQ(table->integer(table->rows[1], 0, "1 to 7", 1, 7), 7);
  EXPECT_FALSE(table->integer(table->rows[2], 0, "1 to 7", 1, 7).has_value());
  EXPECT_FALSE(table->integer(table->rows[3], 0, "a whole number").has_value());
}

TEST(Csv, QuotedTextInErrorsIsShortAndStaysUtf8) {
  EXPECT_EQ(quote("a\nb"), "\"a b\"");
  const std::string euro = "\xE2\x82\xAC";
  std::string text = "x";
  for (int i = 0; i < 100; ++i) {
    text += euro;
  }
  const std::string shown = quote(text);
  EXPECT_LT(shown.size(), 70U);
  EXPECT_TRUE(shown.ends_with(euro + "…\""));
}

}  // namespace
}  // namespace carpool::dataset
