// A command: its options, examples and the function that runs it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_context.hpp"
#include "app/cli/option_set.hpp"
#include "base/result.hpp"

namespace carpool::app {

struct CommandSpec {
  OptionSet options{};
  std::vector<std::string> examples{};  // whole command lines
  std::string notes{};                  // lines below the examples
  bool reads_config = true;             // false: works beside a broken configuration file
  // Reads what parsing put into the targets of `options`, and keeps them alive.
  std::function<Result<void>(const CommandContext&)> run{};
};

// `add` fills the option set; parsing writes into the options that `run` receives.
template <class Options>
[[nodiscard]] CommandSpec make_command(void (*add)(OptionSet&, Options&),
                                       Result<void> (*run)(const Options&, const CommandContext&),
                                       std::vector<std::string> examples,
                                       std::string notes = {}) {
  auto values = std::make_shared<Options>();
  CommandSpec command;
  command.examples = std::move(examples);
  command.notes = std::move(notes);
  command.run = [values, run](const CommandContext& context) { return run(*values, context); };
  add(command.options, *values);
  return command;
}

// A command without options.
[[nodiscard]] inline CommandSpec make_command(Result<void> (*run)(const CommandContext&),
                                              std::vector<std::string> examples) {
  return {.examples = std::move(examples), .run = run};
}

}  // namespace carpool::app
