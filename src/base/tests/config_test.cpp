#include "base/files/config.hpp"

#include <string>

#include <gtest/gtest.h>

namespace carpool {
namespace {

TEST(Config, ReadsEveryKnownKey) {
  const auto config = parse_config(
      "data = \"runs\"\nmodel = \"share\"\nobjective = \"max-min\"\nfloor = 0.7\nmemory_gib = 80\n"
      "color = \"never\"\n",
      "c.toml");
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->data, "runs");
  EXPECT_EQ(config->model, "share");
  EXPECT_EQ(config->objective, "max-min");
  EXPECT_EQ(config->floor, 0.7);
  EXPECT_EQ(config->memory_gib, 80.0);
  EXPECT_EQ(config->colour, "never");
}

TEST(Config, UnknownKeyIsNamedWithLineAndKnownKeys) {
  const auto config = parse_config("data = \"x\"\nflor = 0.7\n", "c.toml");
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().code, ErrorCode::InvalidInput);
  EXPECT_NE(config.error().message.find("c.toml:2: unknown key \"flor\""), std::string::npos);
  EXPECT_NE(config.error().message.find("memory_gib"), std::string::npos);
}

TEST(Config, WrongTypeIsNamedWithLine) {
  const auto config = parse_config("floor = \"much\"\n", "c.toml");
  ASSERT_FALSE(config.has_value());
  EXPECT_NE(config.error().message.find("c.toml:1: floor: expected a number"), std::string::npos);
}

TEST(Config, BrokenTomlIsAnErrorWithLine) {
  const auto config = parse_config("a = 1\nb = [\n", "c.toml");
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().message.find("c.toml:2: "), 0U) << config.error().message;
}

TEST(Config, ColourIsOneOfThree) {
  const auto config = parse_config("\ncolor = \"pink\"\n", "c.toml");
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().message, "c.toml:2: color: \"pink\" is not auto, always or never");
}

TEST(Config, NumbersAreWithinTheirBounds) {
  for (const char* text :
       {"floor = 1.5\n", "floor = -0.1\n", "memory_gib = 0\n", "memory_gib = -40\n"}) {
    EXPECT_FALSE(parse_config(text, "c.toml")) << text;
  }
  const auto config = parse_config("floor = 1.5\n", "c.toml");
  EXPECT_EQ(config.error().message, "c.toml:1: floor: 1.5 is not from 0 to 1");
}

TEST(Config, NamedFileMustExist) {
  const auto config = load_config(std::filesystem::path("/nonexistent/carpool.toml"));
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace carpool
