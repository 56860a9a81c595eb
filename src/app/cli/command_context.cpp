#include "app/cli/command_context.hpp"

#include <algorithm>

#include "app/cli/exit_code.hpp"

namespace carpool::app {

void note_problem(const Error& problem, const CommandContext& context) {
  print_message(problem.message);
  context.exit_code = std::max(context.exit_code, exit_code(problem.code));
}

}  // namespace carpool::app
