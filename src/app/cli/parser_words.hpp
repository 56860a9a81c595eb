// Plain words for what the command-line library complains of.
#pragma once

#include <string>
#include <string_view>

namespace carpool::app {

// The library's message where it is plain already.
[[nodiscard]] std::string plain_problem(std::string_view told);

// About an option of a command that stands before it. `type`: the library's name of its value;
// empty: it takes none.
[[nodiscard]] std::string misplaced_option(std::string_view word,
                                           std::string_view command,
                                           std::string_view type);

}  // namespace carpool::app
