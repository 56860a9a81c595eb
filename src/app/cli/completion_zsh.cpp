#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/completion.hpp"

namespace carpool::app {
namespace {

constexpr std::string_view kZshJobs = R"sh(
_carpool_jobs() {
  local -a jobs
  local kind
  for kind in $@; do
    jobs+=(${${(f)"$(timeout 2 carpool completion $kind 2>/dev/null)"}/$'\t'/:})
  done
  _describe job jobs
}
)sh";

constexpr std::string_view kZshMain = R"sh(
_carpool() {
  local curcontext=$curcontext state line
  local -a of_every
  of_every=(
%s  )
  _arguments -C -S $of_every '1:command:_carpool_commands' '*::argument:->arguments'
  [[ $state == arguments ]] || return
  case $words[1] in
)sh";

// Within the brackets of a description, and in what follows it.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out;
}

std::string zsh_action(const CompletedOption& option) {
  switch (option.kind) {
    case ValueKind::Words:
      return fmt::format("({})", fmt::join(option.words, " "));
    case ValueKind::File:
      return "_files";
    case ValueKind::Folder:
      return "_files -/";
    case ValueKind::ActiveJob:
      return "_carpool_jobs jobs";
    case ValueKind::AnyJob:
      return "_carpool_jobs jobs ended";
    case ValueKind::Command:
      return "_carpool_commands";
    case ValueKind::Program:
      return "_normal";
    case ValueKind::Nothing:
      break;
  }
  return " ";
}

// Each spelling is a specification of its own, which excludes the other one.
std::string zsh_option(const CompletedOption& option) {
  std::string out;
  for (const std::string& name : option.names) {
    const std::string before = option.repeats ? "*"
                               : option.names.size() == 1
                                   ? ""
                                   : fmt::format("({})", fmt::join(option.names, " "));
    const std::string_view joined = option.value.empty() ? "" : name.starts_with("--") ? "=" : "+";
    std::string spec =
        fmt::format("{}{}{}[{}]", before, name, joined, zsh_text(option.description));
    if (!option.value.empty()) {
      spec += fmt::format("{}{}:{}",
                          option.value_optional ? "::" : ":",
                          zsh_text(option.value),
                          zsh_action(option));
    }
    out += fmt::format("    {}\n", shell_quoted(spec));
  }
  return out;
}

std::string zsh_argument(const CompletedOption& argument, std::size_t place) {
  const std::string where = argument.kind == ValueKind::Program ? "*:"
                            : argument.repeats                  ? "*"
                                                                : fmt::format("{}", place);
  return fmt::format(
      "    {}\n",
      shell_quoted(fmt::format("{}:{}:{}", where, zsh_text(argument.value), zsh_action(argument))));
}

std::string zsh_case(const CompletedCommand& command) {
  std::string out = fmt::format("  {})\n    local -a own\n    own=(\n", command.name);
  for (const CompletedOption& option : command.options) {
    out += zsh_option(option);
  }
  bool rest = false;  // one argument takes all words that are left
  for (std::size_t i = 0; i < command.arguments.size() && !rest; ++i) {
    out += zsh_argument(command.arguments[i], i + 1);
    rest = command.arguments[i].repeats;
  }
  return out + "    )\n    _arguments -S $of_every $own\n    ;;\n";
}

std::string zsh_commands(const std::vector<CompletedCommand>& commands) {
  std::string out = "_carpool_commands() {\n  local -a commands\n  commands=(\n";
  for (const CompletedCommand& command : commands) {
    if (!command.name.empty()) {
      out +=
          fmt::format("    {}\n", shell_quoted(command.name + ":" + zsh_text(command.description)));
    }
  }
  return out + "  )\n  _describe command commands\n}\n";
}

}  // namespace

std::string zsh_completion(const std::vector<CompletedCommand>& commands) {
  std::string of_every;
  std::string cases;
  for (const CompletedCommand& command : commands) {
    if (!command.name.empty()) {
      cases += zsh_case(command);
      continue;
    }
    for (const CompletedOption& option : command.options) {
      of_every += zsh_option(option);
    }
  }
  std::string main(kZshMain);
  main.replace(main.find("%s"), 2, of_every);
  // Autoloaded, the file is the function; sourced, it registers the function.
  return fmt::format(
      "#compdef carpool\n# zsh completion of carpool, made by `carpool completion "
      "zsh`.\n\n{}{}{}{}  esac\n}}\n\n"
      "if [[ $funcstack[1] == _carpool ]]; then\n  _carpool \"$@\"\nelse\n"
      "  compdef _carpool carpool\nfi\n",
      zsh_commands(commands),
      kZshJobs,
      main,
      cases);
}

}  // namespace carpool::app
