// Time. Nothing outside base/ reads a system clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace carpool {

// ISO 8601, UTC, whole seconds: "2026-11-15T08:30:00Z".
[[nodiscard]] std::string utc_timestamp();

// Seconds since 1970, UTC. May go back when the system clock is set.
[[nodiscard]] double epoch_seconds();

// Seconds since the machine started, time in suspend included; the same for every process.
[[nodiscard]] double boot_seconds();

// Nanoseconds of CLOCK_MONOTONIC: the same for every process of this machine.
[[nodiscard]] std::int64_t monotonic_ns();

// Sleeps.
void pause_for(std::chrono::nanoseconds span);

// Seconds since its construction.
class Stopwatch {
 public:
  Stopwatch();
  [[nodiscard]] double seconds() const;

 private:
  std::chrono::steady_clock::time_point started_;
};

// Seconds that the calling thread has computed since its construction: not those for which it
// waited for a disk, or for its turn on a busy machine.
class ThreadStopwatch {
 public:
  ThreadStopwatch();
  [[nodiscard]] double seconds() const;

 private:
  double started_s_;
};

}  // namespace carpool
