// argv in, a command that is ready to run out. command_line.cpp alone uses the command-line
// library.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/cli/command.hpp"
#include "base/result.hpp"

namespace carpool::app {

struct GlobalOptions {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::string colour;  // empty: configuration, else auto
  std::optional<std::string> config_file;
};
void add_global_options(OptionSet& options, GlobalOptions& global);

struct Invocation {
  GlobalOptions global;
  CommandSpec command;
};

// Text that ends the program: help and version on standard output, else an error message.
struct FinalWords {
  int exit_code = 0;
  std::string text{};
};

// `words`: the command line without the name of the program.
[[nodiscard]] std::variant<Invocation, FinalWords> parse_command_line(
    std::span<const char* const> words);

// Parses words behind the name of a command, as of a #CARPOOL line, into the targets of the
// options.
[[nodiscard]] Result<void> parse_words(const std::string& command,
                                       const OptionSet& options,
                                       const std::vector<std::string>& words);

// Runs one command from within another: its name and its own options.
[[nodiscard]] Result<void> run_words(const std::vector<std::string>& words,
                                     const CommandContext& context);

// What --help prints; empty name: of the program.
[[nodiscard]] Result<std::string> help_text(std::string_view command);

// Texts of the program that its help and its manual pages share.
inline constexpr std::string_view kDescription =
    "Carpool lets deep-learning jobs share GPUs safely and fast.";
inline constexpr std::string_view kHelpFlag = "Print this help and exit";
inline constexpr std::string_view kVersionFlag = "Print the version and exit";
[[nodiscard]] std::span<const std::string_view> program_examples();

}  // namespace carpool::app
