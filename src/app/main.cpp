// The program: reads the command line and the configuration, runs one command, turns its error into
// a message and an exit code.
#include <cstdio>
#include <exception>
#include <span>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "app/cli/command_context.hpp"
#include "app/cli/command_line.hpp"
#include "app/cli/exit_code.hpp"
#include "app/cli/output.hpp"
#include "base/files/config.hpp"
#include "base/log.hpp"
#include "run/supervisor.hpp"

namespace carpool::app {
namespace {

int complain(const Error& error) {
  fmt::print(stderr, "carpool: {}\n", error.message);
  return exit_code(error.code);
}

int run(int argc, const char* const* argv) {
  const auto parsed = parse_command_line(argc, argv);
  if (const int* code = std::get_if<int>(&parsed)) {
    return *code;
  }
  const auto& invocation = std::get<Invocation>(parsed);
  const GlobalOptions& global = invocation.global;
  set_log_level(global.verbose ? LogLevel::Debug : global.quiet ? LogLevel::Error : LogLevel::Info);
  const auto config = load_config(global.config_file);
  if (!config) {
    return complain(config.error());
  }
  const std::string colour =
      !global.colour.empty() ? global.colour : config->colour.value_or("auto");
  const Output output({.json = global.json, .quiet = global.quiet, .colour = colour});
  int code = kExitOk;
  const CommandContext context{.config = *config, .output = output, .exit_code = code};
  const auto done = run_command(invocation.command, context);
  if (!done) {
    return complain(done.error());
  }
  // A full disk or a closed pipe must not look like success.
  if (const auto written = output.flush(); !written) {
    return complain(written.error());
  }
  return code;
}

}  // namespace
}  // namespace carpool::app

int main(int argc, char** argv) {
  try {
    // Beside every job there is one of these: it reads no settings and depends on nothing.
    if (argc > 1 && std::string_view(argv[1]) == "guard") {
      return carpool::run::run_guard_command(
          std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
    }
    return carpool::app::run(argc, argv);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "carpool: internal error: %s\n", problem.what());
    return carpool::app::kExitFailure;
  }
}
