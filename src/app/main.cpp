// The program: reads the command line and the configuration, runs one command, and turns its error
// into a message and an exit code.
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
#include "app/launch/pty_relay.hpp"
#include "app/remote/post_notice.hpp"
#include "base/files/config.hpp"
#include "base/log.hpp"
#include "base/text/printable.hpp"
#include "interpose/launch/coverage.hpp"
#include "run/supervisor/supervisor.hpp"

namespace carpool::app {
namespace {

int complain(const Error& error) {
  print_message(error.message);
  return exit_code(error.code);
}

// Help and version; an error message where the command line has a mistake.
int print_final(const FinalWords& words) {
  if (words.exit_code != kExitOk) {
    fmt::print(stderr, "{}", printable_lines(words.text));
    return words.exit_code;
  }
  const Output output({});
  output.print(words.text);
  const auto written = output.flush();
  return written ? kExitOk : complain(written.error());
}

int run(std::span<const char* const> words) {
  const auto parsed = parse_command_line(words);
  if (const auto* final_words = std::get_if<FinalWords>(&parsed)) {
    return print_final(*final_words);
  }
  const auto& [global, command] = std::get<Invocation>(parsed);
  set_log_level(global.verbose ? LogLevel::Debug : global.quiet ? LogLevel::Error : LogLevel::Info);
  const auto config = command.reads_config ? load_config(global.config_file) : Config();
  if (!config) {
    return complain(config.error());
  }
  const std::string colour =
      !global.colour.empty() ? global.colour : config->colour.value_or("auto");
  const Output output({.json = global.json, .quiet = global.quiet, .colour = colour});
  int code = kExitOk;
  const CommandContext context{.config = *config, .output = output, .exit_code = code};
  const auto done = command.run(context);
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
    const std::span words =
        std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1 : 0);
    // The supervisor beside every job: it reads no settings and depends on nothing else.
    if (!words.empty() && std::string_view(words.front()) == "guard") {
      return carpool::run::run_guard_command(words.subspan(1));
    }
    // The first process of a job of `carpool run --pty`.
    if (!words.empty() && std::string_view(words.front()) == "pty-relay") {
      return carpool::app::run_pty_relay(words.subspan(1));
    }
    // What tells a web service that a job has ended.
    if (words.size() == 1 && std::string_view(words.front()) == "post-notice") {
      return carpool::app::run_post_notice();
    }
    // What `carpool doctor` starts with the library in front of the driver.
    if (words.size() == 2 && std::string_view(words.front()) == "check-shim") {
      return carpool::interpose::print_coverage(words.back());
    }
    return carpool::app::run(words);
  } catch (const std::exception& problem) {
    carpool::app::print_message(fmt::format("internal error: {}", problem.what()));
    return carpool::app::kExitFailure;
  }
}
