// argv in, plain options out. The only place that knows the command-line library.
#pragma once

#include <string>
#include <variant>

#include "app/cli/exit_code.hpp"
#include "app/cli/options.hpp"

namespace carpool::app {

// What to do, or the exit code after help, version or a complaint have been printed.
[[nodiscard]] std::variant<Invocation, int> parse_command_line(int argc, const char* const* argv);

// The manual page (roff) from the very texts that --help shows.
[[nodiscard]] std::string manual_page();

}  // namespace carpool::app
