// Scripts that complete command lines in bash, zsh and fish, made from the table of commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/cli/option_set.hpp"
#include "base/result.hpp"

namespace carpool::app {

// What can stand where a value is expected.
enum class ValueKind { Nothing, Words, File, Folder, ActiveJob, AnyJob, Command, Program };

struct CompletedOption {
  std::vector<std::string> names{};  // "-o", "--output"; of an argument: none
  std::string description{};
  std::string value{};  // what it is, as the help says; empty: a flag
  ValueKind kind = ValueKind::Nothing;
  std::vector<std::string> words{};  // of kind Words
  bool repeats = false;              // may be given several times
  bool value_optional = false;
};

struct CompletedCommand {
  std::string name{};  // empty: the program
  std::string description{};
  std::vector<CompletedOption> options{};
  std::vector<CompletedOption> arguments{};
};

// The first one is the program with the options that every command takes.
[[nodiscard]] std::vector<CompletedCommand> completed_commands();

[[nodiscard]] std::string bash_completion(const std::vector<CompletedCommand>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<CompletedCommand>& commands);
[[nodiscard]] std::string fish_completion(const std::vector<CompletedCommand>& commands);

// 'text', as all three shells read it.
[[nodiscard]] std::string shell_quoted(std::string_view text);

}  // namespace carpool::app
