// SIGINT, SIGTERM and SIGHUP as a question that a loop asks, instead of a sudden death.
#pragma once

#include <chrono>
#include <csignal>

namespace carpool {

// Used by one thread. Make it before other threads: they inherit that the signals wait.
class StopSignals {
 public:
  // A signal that whoever started us has ignored (nohup) stays ignored.
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  // Waits that long or until a signal comes; whether one has come, now or earlier.
  bool wait_for(std::chrono::nanoseconds span);
  [[nodiscard]] bool came() { return wait_for(std::chrono::nanoseconds(0)); }

 private:
  sigset_t waited_for_{};
  sigset_t before_{};
  bool came_ = false;
};

}  // namespace carpool
