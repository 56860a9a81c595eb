// Exit codes of the program. docs/api.md lists which error kind has which.
#pragma once

#include "base/result.hpp"

namespace carpool::app {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;      // bad usage or input: change the command and try again
inline constexpr int kExitNoServer = 69;  // EX_UNAVAILABLE
inline constexpr int kExitNotYet = 75;    // EX_TEMPFAIL

[[nodiscard]] int exit_code(ErrorCode code);

}  // namespace carpool::app
