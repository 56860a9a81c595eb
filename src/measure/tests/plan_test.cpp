#include "measure/plan.hpp"

#include <set>
#include <string>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/files/file.hpp"

namespace carpool::measure {
namespace {

constexpr const char* kTop = "name = \"p\"\ncommand = [\"run\", \"{workload}\"]\n";
constexpr const char* kThree =
    "[[workload]]\nname = \"a\"\n[[workload]]\nname = \"b\"\n[[workload]]\nname = \"c\"\n";

std::string plan_with(const std::string& groups) {
  return fmt::format("{}{}[[groups]]\n{}", kTop, kThree, groups);
}

Plan parsed(const std::string& text) {
  auto plan = parse_plan(text, "p.toml");
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan.value_or(Plan{});
}

// The problem without its line.
void expect_problem(const std::string& text, int line, const std::string& part) {
  const auto plan = parse_plan(text, "p.toml");
  ASSERT_FALSE(plan.has_value()) << text;
  const std::string& message = plan.error().message;
  EXPECT_EQ(plan.error().code, ErrorCode::InvalidInput) << message;
  EXPECT_TRUE(message.starts_with(fmt::format("p.toml:{}: ", line))) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

using Members = std::vector<std::vector<std::size_t>>;

TEST(Plan, ReadsEveryKey) {
  const Plan plan = parsed(R"(
name = "everything"
throughput_unit = "tokens/s"
provenance = "somewhere"
gpu = 2
seed = 9
command = ["run", "{workload}"]
streams_command = ["run", "--streams", "{workloads}"]
alone_repeats = 4
limited_alone_repeats = 2
[window]
seconds = 2
warm_seconds = 0.5
warm_steps = 5
least_steps = 6
longest_seconds = 30.5
[workers]
resident = 7
start_seconds = 11
end_seconds = 3.5
cpus_each = 4
[[workload]]
name = "a.train"
model = "A"
task = "train"
batch = 8
command = ["other"]
[[workload]]
name = "b"
[[groups]]
table = "limits"
members = [["a.train", "b"], ["b", "b"]]
thread_percentages = [[25, 75.5], [100, 100]]
low_priority = [true, false]
repeats = 2
repeated_share = 0.5
[[groups]]
mechanism = "streams"
members = [["b", "b", "b"]]
)");
  EXPECT_EQ(plan.name, "everything");
  EXPECT_EQ(plan.throughput_unit, "tokens/s");
  EXPECT_EQ(plan.provenance, "somewhere");
  EXPECT_EQ(plan.gpu, 2U);
  EXPECT_EQ(plan.seed, 9U);
  EXPECT_EQ(plan.command, (std::vector<std::string>{"run", "{workload}"}));
  EXPECT_EQ(plan.streams_command.size(), 3U);
  EXPECT_EQ(plan.solo_repeats, 4U);
  EXPECT_EQ(plan.limited_solo_repeats, 2U);
  EXPECT_EQ(plan.window.seconds, 2.0);
  EXPECT_EQ(plan.window.warm_seconds, 0.5);
  EXPECT_EQ(plan.window.warm_steps, 5U);
  EXPECT_EQ(plan.window.least_steps, 6U);
  EXPECT_EQ(plan.window.longest_seconds, 30.5);
  EXPECT_EQ(plan.workers.resident, 7U);
  EXPECT_EQ(plan.workers.start_seconds, 11.0);
  EXPECT_EQ(plan.workers.end_seconds, 3.5);
  EXPECT_EQ(plan.workers.cpus_each, 4U);
  ASSERT_EQ(plan.workloads.size(), 2U);
  EXPECT_EQ(plan.workloads[0].model, "A");
  EXPECT_EQ(plan.workloads[0].task, "train");
  EXPECT_EQ(plan.workloads[0].batch, 8.0);
  EXPECT_EQ(plan.workloads[0].command, std::vector<std::string>{"other"});
  EXPECT_FALSE(plan.workloads[1].batch.has_value());
  ASSERT_EQ(plan.groups.size(), 2U);
  const PlannedGroups& limits = plan.groups[0];
  EXPECT_EQ(limits.table, "limits");
  EXPECT_EQ(limits.mechanism, Mechanism::Mps);
  EXPECT_EQ(limits.members, (Members{{0, 1}, {1, 1}}));
  EXPECT_EQ(limits.thread_percentages[0], (std::vector<double>{25.0, 75.5}));
  EXPECT_EQ(limits.low_priority, (std::vector<bool>{true, false}));
  EXPECT_EQ(limits.repeats, 2U);
  EXPECT_EQ(limits.repeated_share, 0.5);
  EXPECT_EQ(plan.groups[1].mechanism, Mechanism::Streams);
}

TEST(Plan, SizeMeansAllGroupsOfDifferentWorkloads) {
  EXPECT_EQ(parsed(plan_with("size = 2\n")).groups[0].members, (Members{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(parsed(plan_with("size = 3\n")).groups[0].members, (Members{{0, 1, 2}}));
}

TEST(Plan, CountDrawsSomeOfThemByTheSeed) {
  const auto drawn = [](int seed) {
    std::string text = fmt::format("seed = {}\n{}", seed, kTop);
    for (int i = 0; i < 12; ++i) {
      text += fmt::format("[[workload]]\nname = \"w{}\"\n", i);
    }
    return parsed(text + "[[groups]]\nsize = 3\ncount = 10\n").groups[0].members;
  };
  const Members first = drawn(1);
  EXPECT_EQ(first.size(), 10U);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 10U);
  EXPECT_EQ(first, drawn(1));
  EXPECT_NE(first, drawn(2));
}

TEST(Plan, CopiesAreGroupsOfOneUpToThatMany) {
  EXPECT_EQ(parsed(plan_with("copies_of = [\"b\"]\ncopies = 3\n")).groups[0].members,
            (Members{{1}, {1, 1}, {1, 1, 1}}));
}

TEST(Plan, ThePlansOfTheRepositoryAreSound) {
  for (const char* name : {"h200", "h200-copies", "h200-utilisation"}) {
    const std::string file = fmt::format("{}/workloads/plans/{}.toml", CARPOOL_SOURCE_DIR, name);
    const auto text = read_file(file);
    ASSERT_TRUE(text.has_value()) << file;
    const auto plan = parse_plan(*text, file);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    EXPECT_EQ(plan->name, name);
  }
}

TEST(Plan, NamesTheLineOfASyntaxError) {
  expect_problem("name = \"p\"\ncommand = [\n", 2, "end-of-file");
  EXPECT_FALSE(parse_plan(std::string("\xff\xfe\0", 3), "p.toml").has_value());
}

TEST(Plan, AnUnknownKeyIsRefusedWithTheKnownOnes) {
  expect_problem(fmt::format("{}sede = 3\n", kTop),
                 3,
                 "unknown key \"sede\"; did you mean \"seed\"?; known: name, ");
  expect_problem(
      fmt::format("{}{}[[group]]\nsize = 2\n", kTop, kThree), 9, "unknown key \"group\"");
  expect_problem(
      fmt::format("{}[window]\nsecond = 3\n", kTop), 4, "[window] unknown key \"second\"");
  expect_problem(fmt::format("{}[workers]\nresidents = 3\n", kTop), 4, "resident, start_seconds");
  expect_problem(fmt::format("{}[[workload]]\nname = \"a\"\nbach = 3\n", kTop), 5, "[[workload]]");
  expect_problem(plan_with("size = 2\ntabel = \"x\"\n"), 11, "known: table, mechanism");
}

TEST(Plan, AWrongTypeIsRefused) {
  expect_problem("name = 3\n", 1, "name: expected a text");
  expect_problem(fmt::format("{}seed = 1.5\n", kTop), 3, "whole number from 0 to 4294967295");
  expect_problem(fmt::format("{}seed = -1\n", kTop), 3, "whole number");
  expect_problem("name = \"p\"\ncommand = \"run\"\n", 2, "expected a list of texts");
  expect_problem("name = \"p\"\ncommand = [\n\"run\",\n3]\n", 4, "expected a list of texts");
  expect_problem("name = \"p\"\nwindow = 3\n", 2, "window: expected a section");
  expect_problem(fmt::format("{}[window]\nseconds = \"1\"\n", kTop), 4, "a number from 0.2 to");
  expect_problem(fmt::format("{}[window]\nseconds = nan\n", kTop), 4, "a number from 0.2 to");
  expect_problem(plan_with("members = [\"a\"]\n"), 10, "list of lists of names");
  expect_problem(plan_with("members = [[\"a\", 3]]\n"), 10, "list of lists of names");
  expect_problem(plan_with("size = 2\nlow_priority = [1, 0]\n"), 11, "true and false");
  expect_problem(plan_with("size = 2\nthread_percentages = [50]\n"), 11, "lists of numbers");
}

TEST(Plan, AValueOutOfItsBoundsIsRefused) {
  expect_problem(fmt::format("{}[window]\nseconds = 0.1\n", kTop), 4, "from 0.2 to 3600");
  expect_problem(
      fmt::format("{}[window]\nseconds = 30\n", kTop), 3, "must exceed seconds and warm_seconds");
  expect_problem(fmt::format("{}[workers]\nresident = 49\n", kTop), 4, "from 1 to 48");
  expect_problem(plan_with("size = 2\nthread_percentages = [[0, 50]]\n"), 11, "from 1 to 100");
  expect_problem(plan_with("size = 17\n"), 10, "from 1 to 16");
  expect_problem(plan_with("size = 2\nrepeated_share = 1.5\n"), 11, "from 0 to 1");
}

TEST(Plan, NeedsANameWorkloadsWithCommandsAndGroups) {
  expect_problem("command = [\"run\"]\n", 1, "a plan needs a name");
  expect_problem("name = \"a/b\"\n", 1, "letters, digits");
  expect_problem(kTop, 1, "nothing to measure");
  expect_problem("name = \"p\"\n[[workload]]\nname = \"a\"\n", 2, "no command");
  expect_problem(fmt::format("{}[[workload]]\nname = \"a b\"\n", kTop), 4, "letters, digits");
  expect_problem(fmt::format("{}{}[[workload]]\nname = \"b\"\n", kTop, kThree), 10, "listed twice");
}

TEST(Plan, SaysWhichGroupsInExactlyOneWay) {
  const std::string ways = "give members, or size (with count), or copies_of with copies";
  expect_problem(plan_with("table = \"x\"\n"), 9, ways);
  expect_problem(plan_with("size = 2\nmembers = [[\"a\", \"b\"]]\n"), 10, ways);
  expect_problem(plan_with("copies_of = [\"a\"]\n"), 9, ways);
  expect_problem(plan_with("size = 2\ncopies = 3\n"), 10, ways);
  expect_problem(plan_with("members = [[\"a\", \"d\"]]\n"), 10, "\"d\"");
  expect_problem(plan_with("size = 4\n"), 10, "there are 0 groups of 4 among 3 workloads");
  expect_problem(plan_with("size = 2\ncount = 4\n"), 10, "there are 3 groups of 2");
}

TEST(Plan, RefusesMoreGroupsThanAnybodyMeasures) {
  std::string text = kTop;
  for (int i = 0; i < 60; ++i) {
    text += fmt::format("[[workload]]\nname = \"w{}\"\n", i);
  }
  expect_problem(text + "[[groups]]\nsize = 8\ncount = 10\n", 124, "more than 1000000 groups");
}

TEST(Plan, LimitsAreOneAMemberAndNeedMps) {
  expect_problem(plan_with("size = 2\nthread_percentages = [[50]]\n"), 11, "expected one a member");
  expect_problem(plan_with("size = 2\nlow_priority = [true]\n"), 11, "expected one a member");
  expect_problem(
      plan_with("size = 2\nmechanism = \"time-slicing\"\nthread_percentages = [[50, 50]]\n"),
      11,
      "need mps");
  expect_problem(plan_with("size = 2\nmechanism = \"time-slicing\"\nlow_priority = [true, true]\n"),
                 11,
                 "need mps");
  expect_problem(plan_with("size = 2\nmechanism = \"streams\"\n"), 11, "needs streams_command");
  expect_problem(plan_with("size = 2\nmechanism = \"mig\"\n"), 11, "time-slicing");
}

TEST(Plan, ATableHasAFileOfItsOwnAndGroupsOfOneSize) {
  expect_problem(plan_with("size = 2\ntable = \"../x\"\n"), 11, "letters, digits");
  for (const char* taken : {"profiles", "cells", "failures", "exclusive_mps", "alone"}) {
    expect_problem(plan_with(fmt::format("size = 2\ntable = \"{}\"\n", taken)), 11, "another");
  }
  expect_problem(plan_with("table = \"x\"\nmembers = [[\"a\", \"b\"], [\"a\", \"b\", \"c\"]]\n"),
                 10,
                 "the same number of members");
  expect_problem(plan_with("table = \"x\"\nsize = 2\n[[groups]]\ntable = \"x\"\nsize = 3\n"),
                 13,
                 "the same number of members");
  EXPECT_EQ(parsed(plan_with("table = \"x\"\nsize = 2\n[[groups]]\ntable = \"x\"\nmembers = "
                             "[[\"a\", \"a\"]]\n"))
                .groups.size(),
            2U);
  std::string many = "members = [[";
  for (int i = 0; i < 17; ++i) {
    many += "\"a\", ";
  }
  expect_problem(plan_with(many + "]]\n"), 10, "at most 16 in a group");
}

}  // namespace
}  // namespace carpool::measure
