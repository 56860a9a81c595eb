// Time. Nothing outside base/ reads a clock of the system.
#pragma once

#include <chrono>
#include <string>

namespace carpool {

// ISO 8601, UTC, whole seconds: "2026-11-15T08:30:00Z".
[[nodiscard]] std::string utc_timestamp();

// Seconds since it was made.
class Stopwatch {
 public:
  Stopwatch();
  [[nodiscard]] double seconds() const;

 private:
  std::chrono::steady_clock::time_point started_;
};

}  // namespace carpool
