#include "app/output/terminal_filter.hpp"

#include <string>

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

std::string filtered(const std::string& text) {
  TerminalFilter filter;
  std::string out = filter.pass(text);
  return out + filter.finish();
}

TEST(TerminalFilter, PassesTextColoursAndProgressBars) {
  for (const char* text : {"",
                           "plain\n\ttext\n",
                           "größer 训练 🚗",
                           "\033[1;31mred\033[0m",
                           "\033[m",
                           "\033[38:2:1:2:3m",
                           "\r\033[K 40 %\r\033[2K 50 %\n"}) {
    EXPECT_EQ(filtered(text), text);
  }
}

TEST(TerminalFilter, ShowsEverythingElse) {
  EXPECT_EQ(filtered("\033[2J\033[H"), "\\x1b[2J\\x1b[H");
  EXPECT_EQ(filtered("\033]0;title\a"), "\\x1b]0;title\\x07");
  EXPECT_EQ(filtered("\033]52;c;aGk=\033\\"), "\\x1b]52;c;aGk=\\x1b\\");
  EXPECT_EQ(filtered("\033[?1049h"), "\\x1b[?1049h");
  EXPECT_EQ(filtered("\033c\033P+q\033_x"), "\\x1bc\\x1bP+q\\x1b_x");
  EXPECT_EQ(filtered("\xc2\x9b"
                     "2J\x9b"
                     "2J\x7f\b\u202e"),
            "\\u009b2J\\x9b2J\\x7f\\x08\\u202e");
  EXPECT_EQ(filtered("\033[" + std::string(100, '1') + "m"),
            "\\x1b[" + std::string(100, '1') + "m");
}

TEST(TerminalFilter, DoesNotDependOnWhereTheOutputIsCut) {
  const std::string text = "ä\033[31m训\033[2J🚗\xff\xe2\x82z\033]0;x\a\033[1";
  const std::string whole = filtered(text);
  EXPECT_TRUE(whole.ends_with("\\x1b[1"));
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    TerminalFilter filter;
    std::string out = filter.pass(text.substr(0, cut));
    out += filter.pass(text.substr(cut));
    EXPECT_EQ(out + filter.finish(), whole) << cut;
  }
  TerminalFilter filter;
  std::string out;
  for (const char c : text) {
    out += filter.pass(std::string(1, c));
  }
  EXPECT_EQ(out + filter.finish(), whole);
}

}  // namespace
}  // namespace carpool::app
