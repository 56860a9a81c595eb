// The signals of a supervisor: blocked, and taken one by one.
#pragma once

#include <chrono>
#include <csignal>

#include "run/supervisor/supervisor.hpp"

namespace carpool::run {

class SupervisorSignals {
 public:
  SupervisorSignals();
  void block() const;
  // Takes those that ask to stop the job; false: there was none.
  [[nodiscard]] bool stop_heard() const;
  // Waits. 0: none came in time; negative: another handler ran.
  [[nodiscard]] int next_within(std::chrono::seconds limit) const;

 private:
  sigset_t taken_{};
};

}  // namespace carpool::run
