#include "app/inputs/since_time.hpp"

#include <gtest/gtest.h>

#include "serve/units.hpp"

namespace carpool::app {
namespace {

constexpr double kSinceNow = 1.8e9;  // January 2027

TEST(SinceTime, ReadsSpansAndDates) {
  EXPECT_DOUBLE_EQ(*parse_since("7d", kSinceNow), kSinceNow - 7.0 * 86400.0);
  EXPECT_DOUBLE_EQ(*parse_since("12h", kSinceNow), kSinceNow - 12.0 * 3600.0);
  for (const char* date : {"2026-11-01 12:30", "2026-11-01T12:30", "2026-11-01T12:30:00"}) {
    const auto at_s = parse_since(date, kSinceNow);
    ASSERT_TRUE(at_s) << at_s.error().message;
    EXPECT_EQ(serve::show_time(*at_s), "2026-11-01 12:30:00");  // both in local time
  }
  EXPECT_EQ(serve::show_time(*parse_since("2026-11-01", kSinceNow)), "2026-11-01 00:00:00");
}

TEST(SinceTime, RefusesWhatIsNeitherAndTheFuture) {
  for (const char* text :
       {"", "7", "yesterday", "-1d", "2026-13-01", "2026-06-31", "2026-11-01x"}) {
    const auto at_s = parse_since(text, kSinceNow);
    ASSERT_FALSE(at_s) << text;
    EXPECT_EQ(at_s.error().code, ErrorCode::InvalidInput);
    EXPECT_NE(at_s.error().message.find("write 7d"), std::string::npos) << at_s.error().message;
  }
  EXPECT_NE(parse_since("2030-01-01", kSinceNow).error().message.find("future"), std::string::npos);
}

}  // namespace
}  // namespace carpool::app
