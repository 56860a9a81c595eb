// What the system says of the call that has just failed.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace carpool {

[[nodiscard]] inline std::string last_error() {
  return std::generic_category().message(errno);
}

}  // namespace carpool
