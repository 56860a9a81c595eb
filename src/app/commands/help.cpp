// Commands about the program itself: help, man.
#include <filesystem>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "app/cli/command_line.hpp"
#include "app/cli/command_table.hpp"
#include "app/cli/manual_page.hpp"
#include "base/files/file.hpp"
#include "base/text/names.hpp"

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

struct ManOptions {
  std::string command;
  std::optional<std::string> folder;
};

void add_man_options(OptionSet& options, ManOptions& man) {
  options.positional(
      "command", &man.command, "COMMAND", "Command to explain (default: the whole program)");
  options.option("--write",
                 &man.folder,
                 "DIR",
                 "Folder to write all manual pages to: carpool.1, carpool-submit.1 and so on",
                 {.excludes = "command"});
}

Result<void> write_pages(const std::filesystem::path& folder) {
  Result<void> done = write_file(folder / "carpool.1", manual_page());
  for (const CommandRow& row : command_table()) {
    if (done) {
      done = write_file(folder / fmt::format("carpool-{}.1", row.name), manual_page_of(row));
    }
  }
  return done;
}

Result<void> run_man(const ManOptions& options, const CommandContext& context) {
  if (options.folder) {
    return write_pages(*options.folder);
  }
  if (options.command.empty()) {
    context.output.print(manual_page());
    return {};
  }
  return find_named(command_table(), "command", options.command).map([&](const CommandRow* row) {
    context.output.print(manual_page_of(*row));
  });
}

}  // namespace

CommandSpec help_command() {
  CommandSpec command =
      make_command(add_help_options, run_help, {"carpool help", "carpool help submit"});
  command.reads_config = false;
  return command;
}

CommandSpec man_command() {
  CommandSpec command = make_command(
      add_man_options, run_man, {"carpool man | man -l -", "carpool man submit | man -l -"});
  command.reads_config = false;
  return command;
}

}  // namespace carpool::app
