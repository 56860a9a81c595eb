#include "app/cli/completion.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/cli/command_line.hpp"
#include "app/cli/command_table.hpp"

namespace carpool::app {
namespace {

constexpr std::array<std::string_view, 3> kReadJobs = {"show", "explain", "logs"};

bool is_word_list(const OptionTarget& target) {
  return std::holds_alternative<std::vector<std::string>*>(target) ||
         std::holds_alternative<std::vector<std::int64_t>*>(target) ||
         std::holds_alternative<std::vector<double>*>(target);
}

const std::vector<std::string>& offered_words(const Option& option) {
  return option.rules.choices.empty() ? option.rules.examples : option.rules.choices;
}

ValueKind kind_of(const Option& option, std::string_view command) {
  const std::string& value = option.value;
  if (!offered_words(option).empty()) {
    return ValueKind::Words;
  }
  if (value == "DIR") {
    return ValueKind::Folder;
  }
  if (value == "FILE" || value == "PATH" || value == "SOURCE" || value.ends_with(".toml") ||
      value.ends_with(".csv")) {
    return ValueKind::File;
  }
  if (value.starts_with("JOB")) {
    // Ended jobs can be read, not changed.
    const bool reads = std::ranges::find(kReadJobs, command) != kReadJobs.end();
    return reads ? ValueKind::AnyJob : ValueKind::ActiveJob;
  }
  if (value.ends_with("COMMAND")) {
    return is_word_list(option.target) ? ValueKind::Program : ValueKind::Command;
  }
  return ValueKind::Nothing;
}

// "-o,--output": both.
std::vector<std::string> names_of(const Option& option) {
  const std::size_t comma = option.name.find(',');
  if (option.positional()) {
    return {};
  }
  if (comma == std::string::npos) {
    return {option.name};
  }
  return {option.name.substr(0, comma), option.name.substr(comma + 1)};
}

void add_completed(CompletedCommand& command, const OptionSet& options) {
  for (const Option& option : options.all()) {
    auto& list = option.positional() ? command.arguments : command.options;
    list.push_back({.names = names_of(option),
                    .description = option.description,
                    .value = option.value,
                    .kind = kind_of(option, command.name),
                    .words = offered_words(option),
                    .repeats = is_word_list(option.target) && !option.rules.one_word,
                    .value_optional = !option.rules.bare_value.empty()});
  }
}

CompletedOption flag(std::vector<std::string> names, std::string_view description) {
  return {.names = std::move(names), .description = std::string(description)};
}

}  // namespace

std::vector<CompletedCommand> completed_commands() {
  GlobalOptions global;
  OptionSet options;
  add_global_options(options, global);
  CompletedCommand program{
      .options = {flag({"-h", "--help"}, kHelpFlag), flag({"-V", "--version"}, kVersionFlag)}};
  add_completed(program, options);
  std::vector<CompletedCommand> all = {std::move(program)};
  for (const CommandRow& row : command_table()) {
    const CommandSpec command = row.make();
    CompletedCommand& completed = all.emplace_back(
        CompletedCommand{.name = std::string(row.name), .description = std::string(row.line)});
    add_completed(completed, command.options);
  }
  return all;
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

}  // namespace carpool::app
