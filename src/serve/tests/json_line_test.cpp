#include "serve/json_line.hpp"

#include <limits>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::serve {
namespace {

using nlohmann::json;

TEST(JsonLine, WritesEveryTypeAndLeavesOutWhatIsMissing) {
  std::string text = "before ";
  JsonLine line(text);
  line.add("text", "a");
  line.add("signed", std::int64_t{-5});
  line.add("unsigned", std::numeric_limits<std::uint64_t>::max());
  line.add("int", 3);
  line.add("real", 0.12345);
  line.add("list", std::vector<unsigned>{0, 7});
  line.add("missing", std::optional<int>());
  line.add("given", std::optional<int>(4));
  line.close();
  EXPECT_EQ(text,
            R"(before {"text":"a","signed":-5,"unsigned":18446744073709551615,"int":3,)"
            R"("real":0.123,"list":[0,7],"given":4})");
}

TEST(JsonLine, AnObjectMayBeEmpty) {
  std::string text;
  JsonLine(text).close();
  EXPECT_EQ(text, "{}");
}

TEST(JsonLine, EscapesTextAndReplacesWhatIsNotUtf8) {
  for (const std::string& value : {std::string("quote \" and \\"),
                                   std::string("line\nbreak\ttab"),
                                   std::string("zero\0byte", 9),
                                   std::string("delete \x7f"),
                                   std::string("na\xc3\xafve")}) {
    std::string text;
    JsonLine line(text);
    line.add("key", value);
    line.close();
    EXPECT_EQ(json::parse(text).at("key"), value) << text;
  }
  std::string text;
  JsonLine line(text);
  line.add("key", "\xff");
  line.close();
  EXPECT_EQ(json::parse(text).at("key"), "\xef\xbf\xbd");
}

TEST(JsonLine, ANumberThatJsonCannotHoldIsNull) {
  std::string text;
  JsonLine line(text);
  line.add("a", std::numeric_limits<double>::infinity());
  line.add("b", std::numeric_limits<double>::quiet_NaN());
  line.close();
  EXPECT_EQ(text, R"({"a":null,"b":null})");
}

}  // namespace
}  // namespace carpool::serve
