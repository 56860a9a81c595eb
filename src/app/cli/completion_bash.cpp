#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/completion.hpp"

namespace carpool::app {
namespace {

constexpr std::string_view kBashFunctions = R"sh(
_carpool_jobs() {
  timeout 2 "${COMP_WORDS[0]}" completion "$1" 2>/dev/null | cut -f1
}

# _carpool_offer KIND WORD...: fills COMPREPLY with what fits $cur.
_carpool_offer() {
  local kind=$1
  shift
  case $kind in
    words) mapfile -t COMPREPLY < <(compgen -W "$*" -- "$cur") ;;
    commands) mapfile -t COMPREPLY < <(compgen -W "$_carpool_commands" -- "$cur") ;;
    jobs) mapfile -t COMPREPLY < <(compgen -W "$(_carpool_jobs jobs)" -- "$cur") ;;
    ended)
      mapfile -t COMPREPLY < <(compgen -W "$(_carpool_jobs jobs; _carpool_jobs ended)" -- "$cur")
      ;;
    files)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      ;;
    folders)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      ;;
    program)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
      ;;
  esac
}

# The words from number $1 on are a program and its arguments.
_carpool_program() {
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif (($1 == COMP_CWORD)); then
    _carpool_offer program
  else
    _carpool_offer files
  fi
}

_carpool() {
  local cur=${COMP_WORDS[COMP_CWORD]} word option command argument at kind
  COMPREPLY=() command= option=
  for ((at = 1; at < COMP_CWORD; ++at)); do
    word=${COMP_WORDS[at]} option=
    if [[ $word == -- ]]; then
      _carpool_program $((at + 1))
      return
    elif [[ $word == -* ]]; then
      if [[ -n $(_carpool_value "$command" "$word") ]]; then
        option=$word
        # Skip the value: bash makes "=" a word of its own.
        ((++at))
        [[ ${COMP_WORDS[at]} != = || $at == "$COMP_CWORD" ]] || ((++at))
      fi
    elif [[ -z $command ]]; then
      command=$word
    elif [[ $(_carpool_value "$command" -) == program ]]; then
      _carpool_program "$at"
      return
    fi
  done
  if ((at > COMP_CWORD)); then
    # The loop has passed the word at the cursor: it is the value of the last option.
    [[ $cur != = ]] || cur=
    argument=$option
  elif [[ $cur == -* ]]; then
    _carpool_offer words "$(_carpool_options "$command") $(_carpool_options '')"
    return
  elif [[ -z $command ]]; then
    _carpool_offer commands
    return
  else
    argument=-
  fi
  read -r -a kind <<<"$(_carpool_value "$command" "$argument")"
  _carpool_offer "${kind[@]}"
}

complete -F _carpool carpool
)sh";

std::string bash_kind(const CompletedOption& option) {
  switch (option.kind) {
    case ValueKind::Words:
      return fmt::format("words {}", fmt::join(option.words, " "));
    case ValueKind::File:
      return "files";
    case ValueKind::Folder:
      return "folders";
    case ValueKind::ActiveJob:
      return "jobs";
    case ValueKind::AnyJob:
      return "ended";
    case ValueKind::Command:
      return "commands";
    case ValueKind::Program:
      return "program";
    case ValueKind::Nothing:
      break;
  }
  return "nothing";
}

std::string bash_options(const std::vector<CompletedCommand>& commands) {
  std::string out = "_carpool_options() {\n  case $1 in\n";
  for (const CompletedCommand& command : commands) {
    std::vector<std::string> names;
    for (const CompletedOption& option : command.options) {
      names.insert(names.end(), option.names.begin(), option.names.end());
    }
    out += fmt::format("    {}) echo {} ;;\n",
                       shell_quoted(command.name),
                       shell_quoted(fmt::format("{}", fmt::join(names, " "))));
  }
  return out + "  esac\n}\n";
}

std::string bash_values(const std::vector<CompletedCommand>& commands) {
  std::string out =
      "\n# What the value of an option is; \"-\" stands for the arguments. Nothing: a flag.\n"
      "_carpool_value() {\n  case \"$1 $2\" in\n";
  for (const CompletedCommand& command : commands) {
    // Options of the program stand behind every command too.
    const std::string where = command.name.empty() ? "*' " : fmt::format("'{} ", command.name);
    for (const CompletedOption& option : command.options) {
      for (const std::string& name : option.names) {
        if (!option.value.empty()) {
          out +=
              fmt::format("    {}{}') echo {} ;;\n", where, name, shell_quoted(bash_kind(option)));
        }
      }
    }
    if (!command.arguments.empty()) {
      out += fmt::format(
          "    {}-') echo {} ;;\n", where, shell_quoted(bash_kind(command.arguments.front())));
    }
  }
  return out + "  esac\n}\n";
}

}  // namespace

std::string bash_completion(const std::vector<CompletedCommand>& commands) {
  std::string names;
  for (const CompletedCommand& command : commands) {
    names += command.name.empty() ? "" : fmt::format("{} ", command.name);
  }
  return fmt::format(
      "# bash completion of carpool, made by `carpool completion bash`.\n\n"
      "_carpool_commands={}\n\n{}{}{}",
      shell_quoted(names),
      bash_options(commands),
      bash_values(commands),
      kBashFunctions);
}

}  // namespace carpool::app
