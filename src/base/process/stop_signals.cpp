#include "base/process/stop_signals.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace carpool {
namespace {

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals::StopSignals() {
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  ::sigemptyset(&waited_for_);
  for (const int signal : kSignals) {
    if (!is_ignored(signal)) {
      ::sigaddset(&waited_for_, signal);
    }
  }
  ::pthread_sigmask(SIG_BLOCK, &waited_for_, &before_);
}

StopSignals::~StopSignals() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::wait_for(std::chrono::nanoseconds span) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + span;
  while (!came_) {
    const auto left =
        std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(end - Clock::now()));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    came_ = ::sigtimedwait(&waited_for_, nullptr, &limit) > 0;
    // Other signals, such as that of a resized terminal, end the wait early.
    if (left.count() == 0) {
      break;
    }
  }
  return came_;
}

}  // namespace carpool
