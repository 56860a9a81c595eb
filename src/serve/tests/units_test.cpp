#include "serve/units.hpp"

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace carpool::serve {
namespace {

TEST(ParseSeconds, TakesUnitsAndColons) {
  EXPECT_EQ(parse_seconds("30s"), 30.0);
  EXPECT_EQ(parse_seconds("1.5h"), 5400.0);
  EXPECT_EQ(parse_seconds("1h30m"), 5400.0);
  EXPECT_EQ(parse_seconds("2d"), 172800.0);
  EXPECT_EQ(parse_seconds("1:30:00"), 5400.0);
  EXPECT_EQ(parse_seconds("05:00"), 300.0);
  EXPECT_EQ(parse_seconds("1-00:00:01"), 86401.0);
}

TEST(ParseSeconds, AsksForTheUnitOfABareNumber) {
  EXPECT_EQ(parse_seconds("2").error().message,
            "2 has no unit; write 2d for days, 2h for hours, 2m for minutes or 2s for seconds");
  EXPECT_FALSE(parse_seconds("1.5"));
  EXPECT_FALSE(parse_seconds("1h30"));
}

TEST(ParseSeconds, RejectsAnythingElse) {
  for (const char* text : {"", "x", "h", "1x", "-5", "0", "1:2:3:4", "1-", "1:-2", "1e99", "nan"}) {
    const auto seconds = parse_seconds(text);
    ASSERT_FALSE(seconds) << text;
    EXPECT_EQ(seconds.error().message,
              std::string("\"") + text + "\" is not a time; write 90s, 15m, 2h, 1d or 1:30:00");
  }
}

TEST(ParseArray, TakesRangesStepsAndLists) {
  EXPECT_EQ(parse_array("0-3"), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(parse_array("5,1,3-4,4"), (std::vector{1, 3, 4, 5}));
  EXPECT_EQ(parse_array("0-10:5"), (std::vector{0, 5, 10}));
}

TEST(ParseArray, RejectsAnythingElseAndTooLongLists) {
  for (const char* text : {"", ",", "a", "3-1", "-1", "0-10:0", "0-99999999", "0-20000", "1-"}) {
    EXPECT_FALSE(parse_array(text)) << text;
  }
}

TEST(ShowSeconds, HasAsManyPartsAsNeeded) {
  EXPECT_EQ(show_seconds(7), "0:07");
  EXPECT_EQ(show_seconds(7384), "2:03:04");
  EXPECT_EQ(show_seconds(93784.9), "1-02:03:04");
  EXPECT_EQ(show_seconds(-1), "0:00");
}

TEST(ShowBytes, UsesPowersOf1024) {
  EXPECT_EQ(show_bytes(12884901888), "12.0G");
  EXPECT_EQ(show_bytes(1536), "1.5K");
  EXPECT_EQ(show_bytes(0), "0");
  EXPECT_EQ(show_bytes(std::uint64_t{5} << 50U), "5120.0T");
}

TEST(ShowTime, TellsReadersElsewhereTheTimeZone) {
  const char* const zone = std::getenv("TZ");
  const std::optional<std::string> before = zone == nullptr ? std::nullopt : std::optional(zone);
  ASSERT_EQ(::setenv("TZ", "IST-5:30", 1), 0);
  ::tzset();
  EXPECT_EQ(show_time(1'800'000'000.0), "2027-01-15 13:30:00");
  EXPECT_EQ(show_zoned_time(1'800'000'000.0), "2027-01-15 13:30:00 +0530");
  ASSERT_EQ(before ? ::setenv("TZ", before->c_str(), 1) : ::unsetenv("TZ"), 0);
  ::tzset();
}

TEST(Begin, IsATimeFromNowOrOfTheCalendar) {
  constexpr double kAsked = 1'800'000'000.0;  // 2027-01-15 08:00:00 UTC
  EXPECT_EQ(parse_begin("now", kAsked), kAsked);
  EXPECT_EQ(parse_begin("now+1h30m", kAsked), kAsked + 5400.0);
  EXPECT_EQ(parse_begin("2027-01-15T09:00Z", kAsked), kAsked + 3600.0);
  EXPECT_EQ(parse_begin("2027-01-15T08:00:07Z", kAsked), kAsked + 7.0);
  EXPECT_EQ(parse_begin("2027-01-17Z", kAsked), kAsked + 40.0 * 3600.0);
  for (const char* text : {"00:00", "07:30", "22:00", "22:00:30"}) {
    const auto begin_s = parse_begin(text, kAsked);
    ASSERT_TRUE(begin_s) << text;
    EXPECT_GT(*begin_s, kAsked);
    EXPECT_LE(*begin_s, kAsked + 25.0 * 3600.0);
    EXPECT_EQ(show_time(*begin_s).substr(11, 5), std::string(text).substr(0, 5));
  }
  EXPECT_EQ(show_time(*parse_begin("2027-03-01T08:15", kAsked)), "2027-03-01 08:15:00");
}

TEST(ShowRate, HasNoExponent) {
  EXPECT_EQ(show_rate(1434.4), "1434");
  EXPECT_EQ(show_rate(99.96), "100");
  EXPECT_EQ(show_rate(14.34), "14.3");
  EXPECT_EQ(show_rate(0.0143), "0.0143");
}

TEST(Begin, IsRefusedWithWhatToWrite) {
  constexpr double kAsked = 1'800'000'000.0;
  for (const auto& [text, says] : {std::pair("2h", "write now+2h"),
                                   std::pair("now+2", "2 has no unit;"),
                                   std::pair("2", "now+2h"),
                                   std::pair("", "22:00"),
                                   std::pair("tomorrow", "22:00"),
                                   std::pair("25:00", "22:00"),
                                   std::pair("2027-02-30", "22:00"),
                                   std::pair("2026-01-01", "has passed"),
                                   std::pair("2926-01-01", "ten years")}) {
    const auto begin_s = parse_begin(text, kAsked);
    ASSERT_FALSE(begin_s) << text;
    EXPECT_NE(begin_s.error().message.find(says), std::string::npos) << begin_s.error().message;
  }
}

TEST(Begin, KeepsItsMeaningInAnotherTimeZone) {
  constexpr double kAsked = 1'800'000'000.0;
  EXPECT_EQ(begin_in_utc("now+2h", kAsked), "now+2h");
  EXPECT_EQ(begin_in_utc("2027-01-15T09:00Z", kAsked), "2027-01-15T09:00:00Z");
  EXPECT_EQ(*parse_begin(*begin_in_utc("22:00", kAsked), kAsked), *parse_begin("22:00", kAsked));
}

}  // namespace
}  // namespace carpool::serve
