#include "run/supervisor_signals.hpp"

#include <cerrno>

namespace carpool::run {

static_assert(kAskSignal == SIGTERM && kKillSignal == SIGUSR1 && kLookSignal == SIGCONT);

SupervisorSignals::SupervisorSignals() {
  ::sigemptyset(&taken_);
  for (const int signal : {kAskSignal, kKillSignal, kLookSignal, SIGCHLD, SIGINT, SIGHUP}) {
    ::sigaddset(&taken_, signal);
  }
}

void SupervisorSignals::block() const {
  ::pthread_sigmask(SIG_BLOCK, &taken_, nullptr);
}

bool SupervisorSignals::stop_heard() const {
  const timespec at_once{};
  sigset_t stops = taken_;
  ::sigdelset(&stops, SIGCHLD);
  ::sigdelset(&stops, kLookSignal);
  bool heard = false;
  while (::sigtimedwait(&stops, nullptr, &at_once) > 0) {
    heard = true;
  }
  return heard;
}

int SupervisorSignals::next_within(std::chrono::seconds limit) const {
  const timespec wait{.tv_sec = limit.count(), .tv_nsec = 0};
  const int signal = ::sigtimedwait(&taken_, nullptr, &wait);
  return signal < 0 && errno == EAGAIN ? 0 : signal;
}

}  // namespace carpool::run
