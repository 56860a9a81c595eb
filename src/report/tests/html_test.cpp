#include "report/html.hpp"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace carpool::report {
namespace {

TEST(Html, EscapesWhatMarkupIsMadeOf) {
  EXPECT_EQ(escape_html("<a href=\"x\" id='y'>&"),
            "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
}

TEST(Html, KeepsWhiteSpaceAndUnicodeButNoControlCharacters) {
  EXPECT_EQ(escape_html("a\tb\n×"), "a\tb\n×");
  EXPECT_EQ(escape_html(std::string("a\0b\x7F", 4)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST(Html, JsonCannotEndTheScriptElementOrTheLine) {
  EXPECT_EQ(escape_json_for_script("[\"</script>&\xE2\x80\xA8\xE2\x80\xA9\"]"),
            "[\"\\u003c/script\\u003e\\u0026\\u2028\\u2029\"]");
  EXPECT_EQ(escape_json_for_script("\xE2\x80\x93"), "\xE2\x80\x93");
}

TEST(Html, NumbersHaveFixedDecimalsAndNoNegativeZero) {
  EXPECT_EQ(format_number(98.756, 1), "98.8");
  EXPECT_EQ(format_number(-0.001, 2), "0.00");
  EXPECT_EQ(format_number(-0.01, 2), "-0.01");
  EXPECT_EQ(format_number(3.0, -1), "3");
}

TEST(Html, MissingNumbersAreADash) {
  EXPECT_EQ(format_number(std::nan(""), 1), "–");
  EXPECT_EQ(format_with_unit(std::numeric_limits<double>::infinity(), 1, "%"), "–");
}

TEST(Html, UnitsFollowTheNumber) {
  EXPECT_EQ(format_with_unit(98.8, 1, "%"), "98.8 %");
  EXPECT_EQ(format_with_unit(1.43, 2, "×"), "1.43×");
  EXPECT_EQ(format_with_unit(5.0, 0, ""), "5");
}

TEST(Html, TemplateValuesAreNotExpandedAgain) {
  EXPECT_EQ(fill_template("<{{a}}|{{b}}>", {{"a", "{{b}}"}, {"b", "2"}}), "<{{b}}|2>");
}

TEST(Html, TemplateLeavesUnknownAndUnclosedNames) {
  EXPECT_EQ(fill_template("{{x}} {{a", {{"a", "1"}}), "{{x}} {{a");
}

}  // namespace
}  // namespace carpool::report
