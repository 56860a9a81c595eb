#include <string_view>

#include "run/mps/mps_keeper.hpp"
#include "run/mps/mps_sweeping.hpp"
#include "run/supervisor/notice.hpp"
#include "run/supervisor/supervisor.hpp"

namespace carpool::run {

int run_guard_command(std::span<char* const> arguments) {
  const std::string_view role = arguments.empty() ? std::string_view{} : arguments[0];
  if (arguments.size() == 3 && role == "--mps") {
    return run_mps_keeper(arguments[1], arguments[2]);
  }
  if (arguments.size() == 2 && role == "--sweep-mps") {
    return sweep_mps(arguments[1]);
  }
  if (arguments.size() == 1 && role == "--notice") {
    return run_notice();
  }
  return arguments.empty() ? run_supervisor() : kSupervisorDidNot;
}

}  // namespace carpool::run
