// argv in, plain options out. The only place that knows the command-line library.
#pragma once

#include <string>
#include <variant>

#include "app/cli/options.hpp"

namespace carpool::app {

// Exit codes of the program.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNoServer = 69;  // EX_UNAVAILABLE
inline constexpr int kExitNotYet = 75;    // EX_TEMPFAIL

// What to do, or the exit code after help, version or a complaint have been printed.
[[nodiscard]] std::variant<Invocation, int> parse_command_line(int argc, const char* const* argv);

// The manual page (roff) from the very texts that --help shows.
[[nodiscard]] std::string manual_page();

}  // namespace carpool::app
