// Why a measurement gave no number.
#pragma once

#include <string>
#include <string_view>

namespace carpool::measure {

// Reasons that somebody acts on.
inline constexpr std::string_view kOutOfMemory = "oom";
inline constexpr std::string_view kMpsFailure = "mps";
inline constexpr std::string_view kStopped = "stopped";  // we were asked to stop; never recorded

struct Failure {
  std::string reason;   // one of these, "crash", "start-timeout" or "too-slow"
  std::string message;  // the last telling line of the workload's own words
};

// Reads the end of a workload's error output.
[[nodiscard]] Failure explain_death(std::string_view exit, std::string_view error_output);

}  // namespace carpool::measure
