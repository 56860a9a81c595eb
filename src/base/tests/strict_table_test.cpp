#include "base/text/strict_table.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace carpool {
namespace {

// The message of what is wrong with the text; empty: nothing.
std::string problem_of(std::string_view text, const std::function<void(StrictTable&)>& read) {
  const Result<void> done = read_toml(text, "f.toml", read);
  return done ? std::string() : done.error().message;
}

TEST(StrictTable, ReadsEveryType) {
  std::string text;
  bool flag = false;
  double number = 0.0;
  unsigned count = 0;
  std::optional<double> maybe;
  std::optional<double> absent;
  std::vector<std::string> texts;
  std::vector<bool> flags;
  std::vector<std::vector<std::string>> names;
  std::vector<std::vector<double>> numbers;
  const auto done = read_toml(
      "text = 'a'\nflag = true\nnumber = 2\ncount = 7\nmaybe = 0.5\ntexts = ['x', 'y']\n"
      "flags = [true, false]\nnames = [['p'], ['q', 'r']]\nnumbers = [[1, 2.5]]\n",
      "f.toml",
      [&](StrictTable& table) {
        table.read("text", text);
        table.read("flag", flag);
        table.read("number", number);
        table.read("count", count, 0, 10);
        table.read("maybe", maybe, 0.0, 1.0);
        table.read("absent", absent);
        table.read("texts", texts);
        table.read("flags", flags);
        table.read("names", names);
        table.read("numbers", numbers, 1.0, 100.0);
      });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(text, "a");
  EXPECT_TRUE(flag);
  EXPECT_EQ(number, 2.0);
  EXPECT_EQ(count, 7U);
  EXPECT_EQ(maybe, 0.5);
  EXPECT_EQ(absent, std::nullopt);
  EXPECT_EQ(texts, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(flags, (std::vector<bool>{true, false}));
  EXPECT_EQ(names, (std::vector<std::vector<std::string>>{{"p"}, {"q", "r"}}));
  EXPECT_EQ(numbers, (std::vector<std::vector<double>>{{1.0, 2.5}}));
}

TEST(StrictTable, NamesFileLineAndKeyOfAWrongType) {
  const auto read = [](StrictTable& table) {
    std::string text;
    bool flag = false;
    double number = 0.0;
    int count = 0;
    std::vector<std::string> texts;
    table.read("text", text);
    table.read("flag", flag);
    table.read("number", number, 0.0, 1.0);
    table.read("count", count, 1, 48);
    table.read("texts", texts);
  };
  EXPECT_EQ(problem_of("\ntext = 1\n", read), "f.toml:2: text: expected a text in quotes");
  EXPECT_EQ(problem_of("flag = 1\n", read), "f.toml:1: flag: expected true or false");
  EXPECT_EQ(problem_of("number = 2\n", read), "f.toml:1: number: expected a number from 0 to 1");
  EXPECT_EQ(problem_of("number = nan\n", read), "f.toml:1: number: expected a number from 0 to 1");
  EXPECT_EQ(problem_of("count = 1.0\n", read),
            "f.toml:1: count: expected a whole number from 1 to 48");
  EXPECT_EQ(problem_of("count = 49\n", read),
            "f.toml:1: count: expected a whole number from 1 to 48");
  EXPECT_EQ(problem_of("texts = ['a',\n 1]\n", read), "f.toml:2: texts: expected a list of texts");
}

TEST(StrictTable, RejectsAKeyThatWasNotAskedFor) {
  const auto read = [](StrictTable& table) {
    std::string text;
    table.read("name", text);
    table.read("command", text);
  };
  EXPECT_EQ(problem_of("name = 'a'\nnam = 'b'\n", read),
            "f.toml:2: unknown key \"nam\"; did you mean \"name\"?; known: name, command");
  EXPECT_EQ(problem_of("\"a\\n\\u001b[31mlonger\" = 1\n", read),
            "f.toml:1: unknown key \"a  [31mlonger\"; known: name, command");
}

TEST(StrictTable, ReadsTablesAndSaysInWhichAProblemLies) {
  int sum = 0;
  const auto read = [&](StrictTable& table) {
    const auto add = [&](StrictTable& inner) {
      int value = 0;
      inner.read("value", value, 0, 9);
      sum += value;
    };
    table.read_tables("one", add);
    table.read_tables("many", add);
  };
  EXPECT_EQ(problem_of("[one]\nvalue = 1\n[[many]]\nvalue = 2\n[[many]]\nvalue = 3\n", read), "");
  EXPECT_EQ(sum, 6);
  EXPECT_EQ(problem_of("[one]\nvalue = 10\n", read),
            "f.toml:2: [one] value: expected a whole number from 0 to 9");
  EXPECT_EQ(problem_of("[[many]]\nvalue = 1\n[[many]]\nother = 1\n", read),
            "f.toml:4: [[many]] unknown key \"other\"; known: value");
  EXPECT_EQ(problem_of("one = 5\n", read), "f.toml:1: one: expected a section");
}

TEST(StrictTable, NamesATableInsideATableAsTomlDoes) {
  const auto read = [](StrictTable& table) {
    table.read_tables("outer", [](StrictTable& outer) {
      outer.read_tables("inner", [](StrictTable& inner) {
        bool flag = false;
        inner.read("flag", flag);
      });
    });
  };
  EXPECT_EQ(problem_of("[outer]\ninner = { flag = 1 }\n", read),
            "f.toml:2: [outer.inner] flag: expected true or false");
  EXPECT_EQ(problem_of("[outer]\n[[outer.inner]]\nflags = true\n", read),
            "f.toml:3: [[outer.inner]] unknown key \"flags\"; did you mean \"flag\"?; known: flag");
}

TEST(StrictTable, ListsKeysThatTheFileChooses) {
  std::vector<std::string> names;
  std::size_t line = 0;
  EXPECT_EQ(problem_of("[metrics]\nheat = 'sum'\npower = { group = 'x' }\n",
                       [&](StrictTable& table) {
                         EXPECT_TRUE(table.has("metrics"));
                         table.read_tables("metrics", [&](StrictTable& metrics) {
                           for (const std::string& key : metrics.keys()) {
                             std::string text;
                             names.push_back(key);
                             if (metrics.is_table(key)) {
                               line = metrics.line_of(key);
                               metrics.read_tables(
                                   key, [&](StrictTable& one) { one.read("group", text); });
                             } else {
                               metrics.read(key, text);
                             }
                           }
                         });
                       }),
            "");
  EXPECT_EQ(names, (std::vector<std::string>{"heat", "power"}));
  EXPECT_EQ(line, 3U);
}

TEST(StrictTable, KeepsTheFirstProblemAndLeavesLaterValuesAlone) {
  std::string later = "before";
  EXPECT_EQ(problem_of("a = 1\nb = 'given'\n",
                       [&](StrictTable& table) {
                         std::string first;
                         table.read("a", first);
                         table.read("b", later);
                         table.problem("b", "second");
                         table.require("c");
                       }),
            "f.toml:1: a: expected a text in quotes");
  EXPECT_EQ(later, "before");
  EXPECT_EQ(problem_of("", [](StrictTable& table) { table.require("c"); }),
            "f.toml:1: c: is missing");
}

TEST(StrictTable, BrokenTomlIsAProblemWithItsLine) {
  const std::string problem = problem_of("a = 1\nb = [\n", [](StrictTable&) {});
  EXPECT_EQ(problem.find("f.toml:2: "), 0U) << problem;
}

}  // namespace
}  // namespace carpool
