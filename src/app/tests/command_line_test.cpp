#include "app/cli/command_line.hpp"

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/cli/command_table.hpp"
#include "app/cli/exit_code.hpp"

namespace carpool::app {
namespace {

using Argv = std::vector<const char*>;

FinalWords ends(const Argv& words) {
  auto parsed = parse_command_line(words);
  const auto* final_words = std::get_if<FinalWords>(&parsed);
  return final_words != nullptr ? *final_words : FinalWords{.exit_code = -1, .text = "a command"};
}

std::optional<Invocation> runs(const Argv& words) {
  auto parsed = parse_command_line(words);
  if (auto* final_words = std::get_if<FinalWords>(&parsed)) {
    ADD_FAILURE() << final_words->text;
    return std::nullopt;
  }
  return std::get<Invocation>(std::move(parsed));
}

// The value that parsing wrote for an option of the chosen command.
template <class Value>
Value value_of(const Invocation& invocation, std::string_view name) {
  for (const Option& option : invocation.command.options.all()) {
    if (option.name == name) {
      return *std::get<Value*>(option.target);
    }
  }
  ADD_FAILURE() << name;
  return {};
}

void expect_refused(const Argv& words, const std::string& message, const std::string& advice) {
  const FinalWords final_words = ends(words);
  EXPECT_EQ(final_words.exit_code, kExitUsage);
  EXPECT_EQ(final_words.text, "carpool: " + message + "\nTry `" + advice + "`.\n");
}

TEST(CommandLine, HelpAndVersionEndTheProgramWell) {
  for (const Argv& words : {Argv{"--help"}, Argv{"-h"}}) {
    EXPECT_EQ(ends(words).exit_code, kExitOk);
    EXPECT_TRUE(ends(words).text.starts_with("Carpool lets deep-learning jobs share GPUs"));
  }
  std::string number;
  std::ifstream(CARPOOL_SOURCE_DIR "/VERSION") >> number;
  const std::string version = "carpool " + number + "\n";
  for (const Argv& words : {Argv{"--version"}, Argv{"-V"}}) {
    EXPECT_EQ(ends(words).exit_code, kExitOk);
    EXPECT_EQ(ends(words).text, version);
  }
}

TEST(CommandLine, HelpOfACommandIsTheSameByNameAndByOption) {
  for (const CommandRow& row : command_table()) {
    const std::string name(row.name);
    EXPECT_EQ(*help_text(name), ends({name.c_str(), "--help"}).text);
    EXPECT_NE(help_text(name)->find("Usage: carpool " + name), std::string::npos);
  }
  EXPECT_EQ(*help_text(""), ends({"--help"}).text);
}

TEST(CommandLine, HelpOfAnUnknownCommandSuggestsTheNearestOne) {
  const auto help = help_text("sumbit");
  ASSERT_FALSE(help);
  EXPECT_EQ(exit_code(help.error().code), kExitUsage);
  EXPECT_EQ(help.error().message,
            "no command \"sumbit\"; did you mean \"submit\"?\nTry `carpool --help`.");
}

TEST(CommandLine, RefusesMistakesWithAdvice) {
  expect_refused({}, "no command given", "carpool --help");
  expect_refused({"--json"}, "no command given", "carpool --help");
  expect_refused(
      {"quue"}, "no command or option \"quue\"; did you mean \"queue\"?", "carpool --help");
  expect_refused({"--nope"}, "no command or option \"--nope\"", "carpool --help");
  expect_refused({"queue", "--nope"}, "unexpected argument \"--nope\"", "carpool queue --help");
  expect_refused({"queue", "--usr", "me"},
                 "unexpected argument \"--usr\"; did you mean \"--user\"?",
                 "carpool queue --help");
  expect_refused({"sbatch", "x.sh"},
                 "no command or option \"sbatch\"; here it is `carpool submit`",
                 "carpool --help");
  expect_refused({"submit", "--job-name=x", "--", "true"},
                 "unexpected argument \"--job-name=x\"; write --name NAME",
                 "carpool submit --help");
  expect_refused({"cancel", "-u", "ann"},
                 "unexpected argument \"-u\"; write --all-mine",
                 "carpool cancel --help");
  expect_refused(
      {"dataset", "one", "two"}, "unexpected argument \"two\"", "carpool dataset --help");
  expect_refused({"recommend"}, "target is required", "carpool recommend --help");
  expect_refused({"train"}, "--output is required", "carpool train --help");
  expect_refused({"history", "-n", "-1"},
                 "--most: \"-1\" is not a whole number, at least 1",
                 "carpool history --help");
  expect_refused({"predict", "a", "--floor", "2"},
                 "--floor: \"2\" is not a number from 0 to 1",
                 "carpool predict --help");
  expect_refused({"gpus", "--count", "3"}, "--count requires --watch", "carpool gpus --help");
  expect_refused({"estimate", "--train", "--inference"},
                 "--train excludes --inference",
                 "carpool estimate --help");
  expect_refused({"top", "--sort", "name"},
                 "--sort: \"name\" is not one of memory, sm, pid, job",
                 "carpool top --help");
}

TEST(CommandLine, TakesGlobalOptionsBeforeAndAfterTheCommand) {
  for (const Argv& words : {Argv{"--json", "-q", "--color", "never", "models"},
                            Argv{"models", "--json", "-q", "--color", "never"}}) {
    const auto invocation = runs(words);
    ASSERT_TRUE(invocation);
    EXPECT_TRUE(invocation->global.json);
    EXPECT_TRUE(invocation->global.quiet);
    EXPECT_FALSE(invocation->global.verbose);
    EXPECT_EQ(invocation->global.colour, "never");
  }
}

TEST(CommandLine, WritesValuesToTheirTargets) {
  const auto history = runs({"history", "-a", "-n", "50", "--socket", "s"});
  ASSERT_TRUE(history);
  EXPECT_TRUE(value_of<bool>(*history, "-a,--all"));
  EXPECT_EQ(value_of<std::size_t>(*history, "-n,--most"), 50);
  EXPECT_EQ(value_of<std::optional<std::string>>(*history, "--socket"), "s");
  const auto predict = runs({"predict", "a", "b", "--limits", "30,70"});
  ASSERT_TRUE(predict);
  EXPECT_EQ(value_of<std::vector<std::string>>(*predict, "workloads"),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(value_of<std::vector<double>>(*predict, "--limits"), (std::vector<double>{30.0, 70.0}));
}

TEST(CommandLine, UsesTheBareValueOfAnOptionWithoutOne) {
  using Seconds = std::optional<double>;
  EXPECT_EQ(value_of<Seconds>(*runs({"gpus"}), "--watch"), std::nullopt);
  EXPECT_EQ(value_of<Seconds>(*runs({"gpus", "--watch"}), "--watch"), 2.0);
  EXPECT_EQ(value_of<Seconds>(*runs({"gpus", "--watch", "0.5"}), "--watch"), 0.5);
}

TEST(CommandLine, LeavesArgvBehindTheSeparatorToTheProgram) {
  using List = std::vector<std::string>;
  EXPECT_EQ(
      value_of<List>(*runs({"submit", "--mem", "1G", "--", "python", "--mem", "x"}), "command"),
      (List{"python", "--mem", "x"}));
  for (const auto& [words, source, command] :
       {std::tuple(Argv{"estimate", "a.json", "--batch", "8"}, List{"a.json"}, List{}),
        std::tuple(Argv{"estimate", "a.json", "b.json"}, List{"a.json", "b.json"}, List{}),
        std::tuple(Argv{"estimate", "a.json", "--", "sh", "b"}, List{"a.json"}, List{"sh", "b"}),
        std::tuple(Argv{"estimate", "--", "sh", "--batch"}, List{}, List{"sh", "--batch"})}) {
    const auto estimate = runs(words);
    ASSERT_TRUE(estimate);
    EXPECT_EQ(value_of<List>(*estimate, "source"), source);
    EXPECT_EQ(value_of<List>(*estimate, "command"), command);
  }
}

TEST(CommandLine, KeepsHelpWorkingBesideABrokenConfiguration) {
  EXPECT_FALSE(runs({"help"})->command.reads_config);
  EXPECT_FALSE(runs({"man"})->command.reads_config);
  EXPECT_TRUE(runs({"queue"})->command.reads_config);
}

}  // namespace
}  // namespace carpool::app
