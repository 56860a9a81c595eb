// Commands about the program itself: help, man.
#include <string>

#include "app/cli/command_line.hpp"
#include "app/cli/command_table.hpp"

namespace carpool::app {
namespace {

struct HelpOptions {
  std::string command;
};

void add_help_options(OptionSet& options, HelpOptions& help) {
  options.positional(
      "command", &help.command, "COMMAND", "Command to explain (default: the whole program)");
}

Result<void> run_help(const HelpOptions& options, const CommandContext& context) {
  return help_text(options.command).map([&](const std::string& text) {
    context.output.print(text);
  });
}

Result<void> run_man(const CommandContext& context) {
  context.output.print(manual_page());
  return {};
}

}  // namespace

CommandSpec help_command() {
  CommandSpec command =
      make_command(add_help_options, run_help, {"carpool help", "carpool help submit"});
  command.reads_config = false;
  return command;
}

CommandSpec man_command() {
  CommandSpec command = make_command(run_man, {"carpool man | man -l -"});
  command.reads_config = false;
  return command;
}

}  // namespace carpool::app
