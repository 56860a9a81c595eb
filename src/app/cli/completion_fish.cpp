#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/completion.hpp"

namespace carpool::app {
namespace {

constexpr std::string_view kFishFunctions = R"sh(
# Whether the command is $argv[1]; without an argument: whether there is none yet.
function __carpool_in
    set -l value 0
    for word in (commandline -opc)[2..]
        if test $value = 1
            set value 0
        else if contains -- $word %s
            set value 1
        else if not string match -q -- '-*' $word
            test "$word" = "$argv[1]"
            return
        end
    end
    test -z "$argv[1]"
end

function __carpool_jobs
    for kind in $argv
        timeout 2 carpool completion $kind 2>/dev/null
    end
end

complete -c carpool -f
)sh";

// In single quotes fish knows \' and \\.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  }
  return out + "'";
}

std::string fish_values(const CompletedOption& option) {
  switch (option.kind) {
    case ValueKind::Words:
      return fmt::format(" -a {}", fish_quoted(fmt::format("{}", fmt::join(option.words, " "))));
    case ValueKind::File:
    case ValueKind::Program:
      return " -F";
    case ValueKind::Folder:
      return " -a '(__fish_complete_directories)'";
    case ValueKind::ActiveJob:
      return " -a '(__carpool_jobs jobs)'";
    case ValueKind::AnyJob:
      return " -a '(__carpool_jobs jobs ended)'";
    case ValueKind::Command:
      return " -a \"$__carpool_commands\"";
    case ValueKind::Nothing:
      break;
  }
  return "";
}

std::string fish_option(const std::string& condition, const CompletedOption& option) {
  std::string out = "complete -c carpool" + condition;
  for (const std::string& name : option.names) {
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.value.empty() && !option.value_optional) {
    out += " -r";
  }
  return fmt::format("{}{} -d {}\n", out, fish_values(option), fish_quoted(option.description));
}

// Options of the program whose value is the next word.
std::string valued_names(const CompletedCommand& program) {
  std::string names;
  for (const CompletedOption& option : program.options) {
    if (!option.value.empty()) {
      names += fmt::format("{} ", fmt::join(option.names, " "));
    }
  }
  return names;
}

}  // namespace

std::string fish_completion(const std::vector<CompletedCommand>& commands) {
  std::string names;
  std::string lines;
  for (const CompletedCommand& command : commands) {
    const std::string condition =
        command.name.empty() ? "" : fmt::format(" -n '__carpool_in {}'", command.name);
    if (!command.name.empty()) {
      names += command.name + " ";
      lines += fmt::format("complete -c carpool -n __carpool_in -a {} -d {}\n",
                           command.name,
                           fish_quoted(command.description));
    }
    for (const CompletedOption& option : command.options) {
      lines += fish_option(condition, option);
    }
    for (const CompletedOption& argument : command.arguments) {
      if (const std::string values = fish_values(argument); !values.empty()) {
        lines += fmt::format("complete -c carpool{}{}\n", condition, values);
      }
    }
  }
  std::string functions(kFishFunctions);
  functions.replace(functions.find("%s"), 2, valued_names(commands.front()));
  return fmt::format(
      "# fish completion of carpool, made by `carpool completion fish`.\n\nset -g "
      "__carpool_commands {}\n{}{}",
      names,
      functions,
      lines);
}

}  // namespace carpool::app
