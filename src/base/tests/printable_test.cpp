#include "base/text/printable.hpp"

#include <string>

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(Printable, KeepsTextOfAnyLanguage) {
  for (const char* text :
       {"", "train.py --lr 1e-3", "größer", "训练", "🚗👨‍👩‍👧", "\\x1b", "a b"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
    EXPECT_EQ(printable_json(text), text);
  }
}

TEST(Printable, ShowsWhatATerminalActsUpon) {
  EXPECT_EQ(printable("\033[2Jx"), "\\x1b[2Jx");
  EXPECT_EQ(printable("\033]52;c;aGk=\a"), "\\x1b]52;c;aGk=\\x07");
  EXPECT_EQ(printable("a\x7f"), "a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");
  EXPECT_EQ(printable("a\nb\tc\rd\be"), "a\\nb\\tc\\rd\\x08e");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  for (const auto& [text, shown] : {std::pair("\u202e", "\\u202e"),
                                    std::pair("\u2066", "\\u2066"),
                                    std::pair("\u200f", "\\u200f"),
                                    std::pair("\u061c", "\\u061c"),
                                    std::pair("\u2028", "\\u2028")}) {
    EXPECT_EQ(printable(text), shown);
  }
}

TEST(Printable, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");  // an overlong form of ESC
}

TEST(Printable, KeepsLinesWhereTheyAreWanted) {
  EXPECT_EQ(printable_lines("a\n\tb\r\033[A"), "a\n\tb\\r\\x1b[A");
}

TEST(Printable, EscapesJsonAsJsonDoes) {
  EXPECT_EQ(printable_json("{\n  \"a\": \"\x7f\xc2\x9b\u202e\"\n}"),
            "{\n  \"a\": \"\\u007f\\u009b\\u202e\"\n}");
}

TEST(Printable, NamesEveryByteThatIsNotText) {
  for (int value = 0; value < 256; ++value) {
    const std::string shown = printable(std::string(1, static_cast<char>(value)));
    for (const char c : shown) {
      EXPECT_TRUE(c >= 0x20 && c < 0x7f) << value;
    }
  }
}

}  // namespace
}  // namespace carpool
