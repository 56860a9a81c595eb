// How many cases a test that repeats something has.
#pragma once

#include <cstdlib>
#include <string_view>

namespace carpool {

// Whether to run the full number of cases, which `./test --all` asks for by
// CARPOOL_THOROUGH_TESTS=1.
[[nodiscard]] inline bool thorough_tests() {
  const char* wanted = std::getenv("CARPOOL_THOROUGH_TESTS");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

}  // namespace carpool
