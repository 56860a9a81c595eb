#include "base/text/json_integer.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool {
namespace {

using nlohmann::json;

TEST(JsonInteger, WholeNumbersWithinTheTypeAreTaken) {
  EXPECT_EQ(integer_from<int>(json::parse("-2147483648")), -2147483648);
  EXPECT_EQ(integer_from<std::uint64_t>(json::parse("18446744073709551615")), ~std::uint64_t{0});
  EXPECT_EQ(integer_from<std::int64_t>(json::parse("3.0")), 3);
  EXPECT_EQ(integer_from<int>(json(true)), 1);
  EXPECT_EQ(integer_from<std::uint8_t>(json(255)), 255);
}

TEST(JsonInteger, EverythingElseThrowsInsteadOfWrapping) {
  for (const char* text : {"2147483648",
                           "4294967296",
                           "-2147483649",
                           "1e300",
                           "-1e300",
                           "1.5",
                           "99999999999999999999",
                           "\"1\"",
                           "null",
                           "[1]"}) {
    EXPECT_THROW((void)integer_from<int>(json::parse(text)), json::exception) << text;
  }
  for (const char* text : {"-1", "-1.0", "18446744073709551616", "1.8446744073709552e19"}) {
    EXPECT_THROW((void)integer_from<std::uint64_t>(json::parse(text)), json::exception) << text;
  }
  for (const char* text : {"9223372036854775808", "9.223372036854775808e18"}) {
    EXPECT_THROW((void)integer_from<std::int64_t>(json::parse(text)), json::exception) << text;
  }
}

}  // namespace
}  // namespace carpool
