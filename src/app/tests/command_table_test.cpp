#include "app/cli/command_table.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "app/cli/command_line.hpp"
#include "app/cli/manual_page.hpp"

namespace carpool::app {
namespace {

std::vector<std::string_view> names_of(CommandGroup group) {
  std::vector<std::string_view> names;
  for (const CommandRow& row : command_table()) {
    if (row.group == group) {
      names.push_back(row.name);
    }
  }
  return names;
}

// "-o,--output": both.
std::vector<std::string> spellings(const Option& option) {
  const std::size_t comma = option.name.find(',');
  if (comma == std::string::npos) {
    return {option.name};
  }
  return {option.name.substr(0, comma), option.name.substr(comma + 1)};
}

using Names = std::vector<std::string_view>;

TEST(CommandTable, HoldsTheCommandsOfEachGroupInTheOrderOfTheHelp) {
  EXPECT_EQ(names_of(CommandGroup::Jobs),
            (Names{"submit",
                   "queue",
                   "show",
                   "explain",
                   "logs",
                   "wait",
                   "cancel",
                   "hold",
                   "release",
                   "requeue",
                   "update",
                   "history",
                   "usage",
                   "knowledge"}));
  EXPECT_EQ(names_of(CommandGroup::Server),
            (Names{"serve", "status", "drain", "prune", "journal", "token", "relay"}));
  EXPECT_EQ(names_of(CommandGroup::Gpus), (Names{"run", "gpus", "top", "doctor", "record"}));
  EXPECT_EQ(names_of(CommandGroup::Prediction),
            (Names{"recommend", "predict", "assign", "estimate", "profile", "profiles"}));
  EXPECT_EQ(names_of(CommandGroup::Research),
            (Names{"measure",
                   "dataset",
                   "train",
                   "evaluate",
                   "simulate",
                   "report",
                   "models",
                   "policies",
                   "estimators",
                   "demo"}));
  EXPECT_EQ(names_of(CommandGroup::Help), (Names{"help", "man", "completion"}));
  EXPECT_TRUE(std::ranges::is_sorted(command_table(), {}, &CommandRow::group));
}

TEST(CommandTable, NamesNoCommandTwice) {
  std::set<std::string_view> names;
  for (const CommandRow& row : command_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
  EXPECT_EQ(names.size(), 45U);
}

TEST(CommandTable, DescribesEachCommandInOneLine) {
  for (const CommandRow& row : command_table()) {
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(row.line.front()))) << row.line;
    EXPECT_FALSE(row.line.ends_with('.')) << row.line;
    EXPECT_LE(row.line.size(), 68) << row.line;
    EXPECT_EQ(row.line.find('\n'), std::string_view::npos) << row.line;
  }
}

TEST(CommandTable, GivesEachCommandARunFunctionAndExamplesOfItself) {
  for (const CommandRow& row : command_table()) {
    const CommandSpec command = row.make();
    EXPECT_TRUE(command.run) << row.name;
    EXPECT_FALSE(command.examples.empty()) << row.name;
    for (const std::string& example : command.examples) {
      EXPECT_TRUE((example + " ").starts_with("carpool " + std::string(row.name) + " ")) << example;
    }
  }
}

TEST(CommandTable, NamesNoOptionOfACommandTwiceNorLikeOneOfTheProgram) {
  GlobalOptions global;
  OptionSet of_program;
  add_global_options(of_program, global);
  for (const CommandRow& row : command_table()) {
    std::set<std::string> seen = {"-h", "--help", "-V", "--version"};
    const CommandSpec command = row.make();
    for (const std::vector<Option>& set :
         std::array{std::as_const(of_program).all(), command.options.all()}) {
      for (const Option& option : set) {
        for (const std::string& name : spellings(option)) {
          EXPECT_TRUE(seen.insert(name).second) << row.name << " " << name;
        }
      }
    }
  }
}

TEST(CommandTable, DescribesEachOptionAndNamesItsValue) {
  std::size_t options = 0;
  for (const CommandRow& row : command_table()) {
    const CommandSpec command = row.make();
    for (const Option& option : command.options.all()) {
      const std::string where = std::string(row.name) + " " + option.name;
      EXPECT_FALSE(option.description.empty()) << where;
      EXPECT_FALSE(option.description.ends_with('.')) << where;
      EXPECT_EQ(std::holds_alternative<bool*>(option.target), option.value.empty()) << where;
      ++options;
    }
  }
  EXPECT_GT(options, 150);
}

TEST(CommandTable, ListsEveryOptionInTheHelpAndTheManual) {
  const std::string manual = manual_page();
  for (const CommandRow& row : command_table()) {
    const auto help = help_text(row.name);
    ASSERT_TRUE(help) << row.name;
    EXPECT_TRUE(help->starts_with(row.line)) << *help;
    const CommandSpec command = row.make();
    for (const Option& option : command.options.all()) {
      EXPECT_NE(help->find("\n  " + option.name + " "), std::string::npos) << option.name;
      EXPECT_NE(help->find(option.description), std::string::npos) << option.name;
    }
    for (const std::string& example : command.examples) {
      EXPECT_NE(help->find("\n  " + example + "\n"), std::string::npos) << example;
    }
    EXPECT_NE(manual.find("\n.B carpool\\-" + std::string(row.name) + "(1)\n"), std::string::npos);
  }
}

TEST(CommandTable, ShowsGroupsBeforeOptionsExamplesAndExitCodes) {
  const std::string help = *help_text("");
  std::size_t last = 0;
  for (const char* heading : {"\nJobs:\n",
                              "\nServer:\n",
                              "\nGPUs:\n",
                              "\nPrediction:\n",
                              "\nResearch:\n",
                              "\nHelp:\n",
                              "\nOptions:\n",
                              "\nExamples:\n  carpool submit ",
                              "\nExit codes: 0 success, 1 failure, 2 bad usage"}) {
    const std::size_t at = help.find(heading);
    ASSERT_NE(at, std::string::npos) << heading;
    EXPECT_GT(at, last) << heading;
    last = at;
  }
  const std::string manual = manual_page();
  last = 0;
  for (const char* heading : {"SH COMMANDS",
                              "SS Jobs",
                              "SS Server",
                              "SS GPUs",
                              "SS Prediction",
                              "SS Research",
                              "SS Help",
                              "SH OPTIONS",
                              "SH EXIT STATUS",
                              "SH ENVIRONMENT",
                              "SH FILES",
                              "SH EXAMPLES"}) {
    const std::size_t at = manual.find("\n." + std::string(heading) + "\n");
    ASSERT_NE(at, std::string::npos) << heading;
    EXPECT_GT(at, last) << heading;
    last = at;
  }
}

}  // namespace
}  // namespace carpool::app
