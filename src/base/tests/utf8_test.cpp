#include "base/text/utf8.hpp"

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(Utf8, AcceptsCharactersOfEveryLength) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x9A\x97"));
  EXPECT_EQ(utf8_length("\xF0\x9F\x9A\x97x"), 4U);
}

TEST(Utf8, RejectsWhatJsonRejects) {
  EXPECT_FALSE(is_utf8("\xC3"));              // cut short
  EXPECT_FALSE(is_utf8("\x80"));              // a continuation first
  EXPECT_FALSE(is_utf8("\xC0\xAF"));          // overlong
  EXPECT_FALSE(is_utf8("\xE0\x80\xAF"));      // overlong
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));      // a surrogate
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));  // past U+10FFFF
}

}  // namespace
}  // namespace carpool
