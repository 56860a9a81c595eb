#include "base/text/strict_object.hpp"

#include <limits>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool {
namespace {

using nlohmann::json;

TEST(StrictObject, ReadsEveryTypeAndLeavesAbsentKeysAlone) {
  const json object = json::parse(R"({"text": "a", "flag": true, "int": -3, "unsigned": 3,
      "large": 18446744073709551615, "real": 2, "texts": ["x"], "numbers": [0, 4],
      "ids": [-1], "map": {"k": "v"}, "given": 1.5})");
  StrictObject reader(object, "job");
  std::string text;
  bool flag = false;
  int number = 0;
  unsigned count = 0;
  std::uint64_t large = 0;
  double real = 0.0;
  std::vector<std::string> texts;
  std::vector<unsigned> numbers;
  std::vector<std::int64_t> ids;
  std::map<std::string, std::string> map;
  std::optional<double> given;
  std::optional<double> absent;
  std::string untouched = "default";
  reader.read("text", text);
  reader.read("flag", flag);
  reader.read("int", number);
  reader.read("unsigned", count);
  reader.read("large", large);
  reader.read("real", real);
  reader.read("texts", texts);
  reader.read("numbers", numbers);
  reader.read("ids", ids);
  reader.read("map", map);
  reader.read("given", given);
  reader.read("absent", absent);
  reader.read("missing", untouched);
  const Result<void> done = reader.finish();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(text, "a");
  EXPECT_TRUE(flag);
  EXPECT_EQ(number, -3);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(large, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(real, 2.0);
  EXPECT_EQ(texts, std::vector<std::string>{"x"});
  EXPECT_EQ(numbers, (std::vector<unsigned>{0, 4}));
  EXPECT_EQ(ids, std::vector<std::int64_t>{-1});
  EXPECT_EQ(map, (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_EQ(given, 1.5);
  EXPECT_EQ(absent, std::nullopt);
  EXPECT_EQ(untouched, "default");
}

// The message about {"key": value} when the key is read as this type.
template <class Value>
std::string problem_with(const char* value) {
  const json object = json::parse(std::string(R"({"key": )") + value + "}");
  StrictObject reader(object, "job");
  Value read{};
  reader.read("key", read);
  const Result<void> done = reader.finish();
  return done ? std::string() : done.error().message;
}

TEST(StrictObject, AWrongTypeIsNamedWithItsKey) {
  EXPECT_EQ(problem_with<std::string>("1"), "job: key: expected text");
  EXPECT_EQ(problem_with<bool>("1"), "job: key: expected true or false");
  EXPECT_EQ(problem_with<double>("\"1\""), "job: key: expected a number");
  EXPECT_EQ(problem_with<int>("1.0"), "job: key: expected a whole number");
  EXPECT_EQ(problem_with<int>("2147483648"), "job: key: expected a whole number");
  EXPECT_EQ(problem_with<int>("-2147483648"), "");
  EXPECT_EQ(problem_with<unsigned>("-1"), "job: key: expected a whole number, not below 0");
  EXPECT_EQ(problem_with<unsigned>("4294967296"), "job: key: expected a whole number, not below 0");
  EXPECT_EQ(problem_with<std::vector<std::string>>("[\"a\", 1]"),
            "job: key: expected a list of texts");
  EXPECT_EQ((problem_with<std::map<std::string, std::string>>("{\"a\": 1}")),
            "job: key: expected an object of texts");
}

TEST(StrictObject, UnknownAndMissingKeysAreErrors) {
  const json object = json::parse(R"({"gpu": 1})");
  StrictObject reader(object, "job");
  unsigned gpus = 1;
  reader.read("gpus", gpus);
  const Result<void> done = reader.finish();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::InvalidInput);
  EXPECT_EQ(done.error().message, "job: unknown key \"gpu\"; did you mean \"gpus\"?");
  StrictObject strict(object, "job");
  strict.require("argv");
  EXPECT_EQ(strict.finish().error().message, "job: argv: is missing");
}

TEST(StrictObject, AnythingButAnObjectIsAnError) {
  for (const char* text : {"[]", "1", "null"}) {
    const json value = json::parse(text);
    StrictObject reader(value, "job");
    std::string name = "before";
    reader.read("name", name);
    ASSERT_FALSE(reader.finish()) << text;
    EXPECT_EQ(name, "before");
  }
}

}  // namespace
}  // namespace carpool
