// SIGINT, SIGTERM and SIGHUP as a condition that a loop checks, instead of immediate termination.
#pragma once

#include <chrono>
#include <csignal>

namespace carpool {

// Used by one thread. Create it before other threads start: they inherit the blocked signals.
class StopSignals {
 public:
  // A signal that the parent process ignores (nohup) stays ignored.
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  // Waits that long or until a signal arrives; true when one has arrived, now or earlier.
  bool wait_for(std::chrono::nanoseconds span);
  [[nodiscard]] bool came() { return wait_for(std::chrono::nanoseconds(0)); }

 private:
  sigset_t waited_for_{};
  sigset_t before_{};
  bool came_ = false;
};

}  // namespace carpool
