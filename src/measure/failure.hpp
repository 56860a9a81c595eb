// Why a measurement failed.
#pragma once

#include <string>
#include <string_view>

namespace carpool::measure {

// Reasons that code acts on.
inline constexpr std::string_view kOutOfMemory = "oom";
inline constexpr std::string_view kMpsFailure = "mps";
inline constexpr std::string_view kStopped = "stopped";  // stop requested; never recorded

struct Failure {
  std::string reason;   // one of these, "crash", "start-timeout" or "too-slow"
  std::string message;  // exit status and the last line of the workload's error output
};

// Finds the reason in the workload's error output.
[[nodiscard]] Failure explain_death(std::string_view exit, std::string_view error_output);

}  // namespace carpool::measure
