// The options of a command as data. Parsing, --help and the manual page are made from them; only
// command_line.cpp knows the command-line library, whose header is expensive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace carpool::app {

// Where the value goes. bool: a flag; std::vector: several values, of an option one each time it is
// given.
using OptionTarget = std::variant<bool*,
                                  std::string*,
                                  unsigned*,
                                  std::size_t*,
                                  std::int64_t*,
                                  double*,
                                  std::optional<std::string>*,
                                  std::optional<int>*,
                                  std::optional<unsigned>*,
                                  std::optional<std::size_t>*,
                                  std::optional<std::int64_t>*,
                                  std::optional<double>*,
                                  std::vector<std::string>*,
                                  std::vector<std::int64_t>*,
                                  std::vector<double>*>;

// What is wrong with a value, for the user; empty: nothing.
using OptionCheck = std::function<std::string(const std::string&)>;

struct OptionRules {
  OptionCheck check{};
  std::vector<std::string> choices{};   // the only values allowed; empty: any
  std::vector<std::string> examples{};  // completion offers them where there are no choices
  bool required = false;
  bool commas = false;       // a value of a list may be several, separated by commas
  bool one_word = false;     // of a positional list: the first word only
  std::string bare_value{};  // value when the option is given without one
  std::string needs{};       // another option, which must be given too
  std::string excludes{};    // another option, which must not be given
};

struct Option {
  std::string name;  // "-o,--output"; of a positional argument: "jobs"
  OptionTarget target;
  std::string value;  // what the value is, with its unit: FILE, SECONDS; empty for a flag
  std::string description;
  OptionRules rules{};

  [[nodiscard]] bool positional() const { return !name.starts_with('-'); }
};

class OptionSet {
 public:
  void flag(std::string name, bool& target, std::string description, OptionRules rules = {});
  void option(std::string name,
              OptionTarget target,
              std::string value,
              std::string description,
              OptionRules rules = {});
  void positional(std::string name,
                  OptionTarget target,
                  std::string value,
                  std::string description,
                  OptionRules rules = {});
  // A program and its arguments: everything behind the first "--", or from the first word that is
  // neither an option nor the value of one. These words are the program's, even where they look
  // like options of Carpool.
  void program(std::string name,
               std::vector<std::string>& target,
               std::string value,
               std::string description);
  // The same, but only behind "--". Words before it belong to `before`, the list of the positional
  // argument that was added last.
  void program_behind(std::vector<std::string>& before,
                      std::string name,
                      std::vector<std::string>& target,
                      std::string value,
                      std::string description);

  [[nodiscard]] const std::vector<Option>& all() const { return options_; }
  // How many of `words`, the arguments of a command, are Carpool's; the others are the program's.
  // `global`: options that every command takes.
  [[nodiscard]] std::size_t own_words(std::span<const char* const> words,
                                      const OptionSet& global) const;
  // To be called after the own words are parsed, with the others.
  void put_program(std::span<const char* const> words) const;

 private:
  std::vector<Option> options_;
  std::vector<std::string>* program_ = nullptr;
  std::vector<std::string>* before_ = nullptr;  // the program is only behind "--"
};

// How many of `words` come before the first one that is neither an option nor the value of one.
[[nodiscard]] std::size_t option_words(std::span<const char* const> words,
                                       std::span<const OptionSet* const> sets);

// Those of a table of policies or rules, as OptionRules::examples.
template <class Info>
[[nodiscard]] std::vector<std::string> listed_names(std::span<const Info> table) {
  std::vector<std::string> names;
  for (const Info& info : table) {
    names.emplace_back(info.name);
  }
  return names;
}

[[nodiscard]] OptionCheck whole_number(std::uint64_t least = 0);
[[nodiscard]] OptionCheck one_of(std::vector<std::string> choices);
[[nodiscard]] OptionCheck share_of_one();
// Of an upper bound: 0.5 to 0.999.
[[nodiscard]] OptionCheck confidence_level();
[[nodiscard]] OptionCheck above_zero();
// Seconds from `least` to a year.
[[nodiscard]] OptionCheck seconds_from(double least);
// A memory size with its unit (base/text/memory_size.hpp), or one of `words`.
[[nodiscard]] OptionCheck memory_size(std::vector<std::string> words = {});
// A time with its unit (serve/units.hpp).
[[nodiscard]] OptionCheck time_with_unit();
// A whole number that the target can hold; empty: it takes no whole number.
[[nodiscard]] OptionCheck number_for(const OptionTarget& target);
// A time to begin at (serve/units.hpp).
[[nodiscard]] OptionCheck begin_time();

}  // namespace carpool::app
