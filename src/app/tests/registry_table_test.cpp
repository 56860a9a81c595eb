#include "app/output/registry_table.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/cli/serve_options.hpp"
#include "app/tests/fixtures.hpp"
#include "interpose/gate/policy.hpp"
#include "policy/policy_registry.hpp"
#include "schedule/queue_order.hpp"
#include "schedule/recovery.hpp"

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

template <class Info>
std::vector<std::string> marked(std::span<const Info> table, std::string_view Info::* line) {
  std::vector<std::string> names;
  for (const Info& info : table) {
    if ((info.*line).starts_with("default: ")) {
      names.emplace_back(info.name);
    }
  }
  return names;
}

// carpool policies prints these tables.
TEST(RegistryTable, TheDefaultOfEachTableIsMarked) {
  const ServeOptions serve;
  EXPECT_EQ(marked(policy::placement_policies(), &policy::PolicyInfo::line),
            std::vector{serve.policy});
  EXPECT_EQ(marked(schedule::queue_orders(), &schedule::QueueOrderInfo::line),
            std::vector{serve.order});
  EXPECT_EQ(marked(schedule::recovery_rules(), &schedule::RecoveryRuleInfo::line),
            std::vector{serve.recovery});
  EXPECT_EQ(marked(interpose::gate::policies(), &interpose::gate::Policy::summary),
            std::vector{std::string(interpose::gate::policies().front().name)});
}

}  // namespace
}  // namespace carpool::app
