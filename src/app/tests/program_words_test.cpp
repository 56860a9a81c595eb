// The words of a program that a command runs arrive as they were written, whatever options come
// before them.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "app/cli/command_line.hpp"
#include "app/cli/command_table.hpp"

namespace carpool::app {
namespace {

using Words = std::vector<std::string>;

const std::array<Words, 7> all_programs = {{{"echo", "--time", "5s"},
                                            {"python", "train.py", "--mem=1G", "-n", "5"},
                                            {"true"},
                                            {"sh", "-c", "exit 0", "--", "--json"},
                                            {"env", "A=B", "--help", "--version"},
                                            {"3,4", "5", "--after", "6"},
                                            {"prog", "", " ", "--no-such-option", "-q"}}};

struct Parsed {
  Words program{};
  std::string problem{};
};

Parsed parsed(const Words& words) {
  std::vector<const char*> argv;
  for (const std::string& word : words) {
    argv.push_back(word.c_str());
  }
  auto result = parse_command_line(argv);
  if (const auto* words_of_end = std::get_if<FinalWords>(&result)) {
    return {.problem = words_of_end->text.substr(0, 200) + "."};
  }
  for (const Option& option : std::get<Invocation>(result).command.options.all()) {
    if (option.name == "command") {
      return {.program = *std::get<Words*>(option.target)};
    }
  }
  return {.problem = "no option \"command\""};
}

std::string last_name(const Option& option) {
  return option.name.substr(option.name.rfind(',') + 1);
}

// The option with a value that it accepts, in each way that it can be written.
std::vector<Words> word_spellings(const Option& option) {
  const std::string name = last_name(option);
  if (std::holds_alternative<bool*>(option.target)) {
    return {{name}};
  }
  static const std::map<std::string, std::string> values{{"SIZE", "3G"},
                                                         {"TIME", "3h"},
                                                         {"WHEN", "now+3h"},
                                                         {"LATENCY", "3ms"},
                                                         {"SHARE", "0.9"},
                                                         {"POLICY", "time"}};
  const auto usual = values.find(option.value);
  const std::string value = !option.rules.choices.empty() ? option.rules.choices.front()
                            : usual != values.end()       ? usual->second
                                                          : "3";
  return {{name, value}, {name + "=" + value}, {name, value, name, value}};
}

void expect_verbatim(const Words& before, const Words& program, bool separated) {
  Words words = before;
  if (separated) {
    words.emplace_back("--");
  }
  words.insert(words.end(), program.begin(), program.end());
  const Parsed got = parsed(words);
  EXPECT_EQ(got.problem, "") << testing::PrintToString(words);
  EXPECT_EQ(got.program, program) << testing::PrintToString(words);
}

bool is_single(const Option& option) {
  return !std::holds_alternative<Words*>(option.target) &&
         !std::holds_alternative<std::vector<std::int64_t>*>(option.target) &&
         !std::holds_alternative<std::vector<double>*>(option.target) &&
         !std::holds_alternative<bool*>(option.target);
}

// The option that this one needs, with a value.
Words needed_by(const Option& option, const OptionSet& options) {
  for (const Option& other : options.all()) {
    if (!option.rules.needs.empty() && last_name(other) == option.rules.needs) {
      return word_spellings(other).front();
    }
  }
  return {};
}

void try_every_option(const std::string& command, const OptionSet& options) {
  for (const Option& option : options.all()) {
    for (const Words& spelling :
         option.positional() ? std::vector<Words>{} : word_spellings(option)) {
      if (spelling.size() == 4 && is_single(option)) {
        continue;  // it may be given once
      }
      Words before = {command};
      const Words needed = needed_by(option, options);
      before.insert(before.end(), needed.begin(), needed.end());
      before.insert(before.end(), spelling.begin(), spelling.end());
      for (const Words& program : all_programs) {
        expect_verbatim(before, program, /*separated=*/true);
        expect_verbatim(before, program, /*separated=*/false);
      }
    }
  }
}

TEST(ProgramWords, ArriveVerbatimBehindEveryOption) {
  for (const CommandRow& row : command_table()) {
    if (row.name == "submit" || row.name == "profile") {
      const CommandSpec command = row.make();
      try_every_option(std::string(row.name), command.options);
      GlobalOptions global;
      OptionSet global_options;
      add_global_options(global_options, global);
      try_every_option(std::string(row.name), global_options);
    }
  }
}

TEST(ProgramWords, ArriveVerbatimBehindSeveralOptions) {
  for (const Words& program : all_programs) {
    for (const bool separated : {true, false}) {
      expect_verbatim({"submit", "--env", "A=B"}, program, separated);
      expect_verbatim(
          {"submit", "--after", "1,2", "--env", "A", "--env", "B=C"}, program, separated);
      expect_verbatim(
          {"--json", "--color", "never", "submit", "--priority", "-5"}, program, separated);
      expect_verbatim({"submit", "-qv", "--wait", "--mem=2G", "--exclusive"}, program, separated);
      expect_verbatim({"profile", "-q", "-o", "there", "--gpu", "1"}, program, separated);
    }
    expect_verbatim({"estimate", "--batch", "8"}, program, /*separated=*/true);
    expect_verbatim({"estimate", "--estimator", "a,b"}, program, /*separated=*/true);
  }
}

TEST(ProgramWords, MayBeginWithAnOptionBehindTheSeparator) {
  expect_verbatim({"submit"}, {"--json"}, /*separated=*/true);
  expect_verbatim({"submit", "--wait"}, {"-x", "--"}, /*separated=*/true);
  EXPECT_EQ(parsed({"submit", "--"}).program, Words{});
  EXPECT_EQ(parsed({"submit"}).program, Words{});
}

TEST(ProgramWords, DoNotHideMistakesBeforeThem) {
  for (const auto& [words, problem] :
       {std::tuple(Words{"submit", "--nope", "true"}, "unexpected argument \"--nope\""),
        std::tuple(Words{"submit", "--name", "--", "true"},
                   "--name has no value; write --name NAME"),
        std::tuple(Words{"submit", "--after", "x", "true"}, "--after"),
        std::tuple(Words{"submit", "--env", "--", "true"}, "--env has no value")}) {
    EXPECT_NE(parsed(words).problem.find(problem), std::string::npos)
        << testing::PrintToString(words) << parsed(words).problem;
  }
}

TEST(ProgramWords, OfEstimateBeginOnlyBehindTheSeparator) {
  EXPECT_EQ(parsed({"estimate", "a.json", "b.json"}).program, Words{});
  EXPECT_EQ(parsed({"estimate", "a.json", "--", "sh", "b", "--batch"}).program,
            (Words{"sh", "b", "--batch"}));
}

}  // namespace
}  // namespace carpool::app
