#include "app/output/registry_table.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/tests/fixtures.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

// A registry whose entries hold more than a name and a description.
struct Shape {
  int corners = 0;
  std::string_view name;
  std::string_view description;
};
constexpr std::array kShapes{Shape{3, "triangle", "three corners"},
                             Shape{4, "box", "four corners"}};

TEST(RegistryTable, EntriesAreListedByNameUnderTheHeading) {
  json out;
  const std::string text = printed([&](const Output& output) {
    list_registry("shapes", std::span<const Shape>(kShapes), output, out);
    list_registry("colours", std::vector<RegistryEntry>{{"red", "warm"}}, output, out);
  });
  EXPECT_EQ(text,
            "shapes\n"
            "triangle  three corners\n"
            "box       four corners\n"
            "\n"
            "colours\n"
            "red      warm\n");
}

TEST(RegistryTable, JsonHasOneListPerHeadingAndNothingIsPrinted) {
  json out;
  const std::string text = printed(
      [&](const Output& output) {
        list_registry("shapes", std::span<const Shape>(kShapes), output, out);
        list_registry("colours", std::vector<RegistryEntry>{{"red", "warm"}}, output, out);
      },
      {.json = true});
  EXPECT_EQ(text, "");
  EXPECT_EQ(out, json::parse(R"({
      "shapes": [{"name": "triangle", "description": "three corners"},
                 {"name": "box", "description": "four corners"}],
      "colours": [{"name": "red", "description": "warm"}]})"));
}

}  // namespace
}  // namespace carpool::app
