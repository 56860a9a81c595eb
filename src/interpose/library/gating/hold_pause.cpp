#include "interpose/library/gating/hold_pause.hpp"

#include <algorithm>
#include <sys/prctl.h>

#include "interpose/library/clock.hpp"

namespace carpool::interpose {

using gate::Decision;
using gate::HoldReason;
using gate::kMicrosecond;
using gate::kMillisecond;
using gate::Nanoseconds;

namespace {

// A sleep ends up to this much late.
constexpr Nanoseconds kSleepOverrun = 50 * kMicrosecond;
constexpr Nanoseconds kSleep = 30 * kMicrosecond;
constexpr Nanoseconds kSpin = 20 * kMicrosecond;

// Leaves the core to its other thread for a moment.
void rest_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");  // NOLINT(hicpp-no-assembler)
#endif
}

// Without timer slack, which would more than double so short a sleep.
void sleep_sharply(Nanoseconds span) {
  const int slack = ::prctl(PR_GET_TIMERSLACK);
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  pause_ns(span);
  if (slack > 0) {
    ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack));  // NOLINT(google-runtime-int)
  }
}

}  // namespace

void spin_for(Nanoseconds span) {
  const Nanoseconds end = static_cast<Nanoseconds>(exact_now_ns()) + span;
  do {
    for (int i = 0; i < 8; ++i) {
      rest_processor();
    }
  } while (static_cast<Nanoseconds>(exact_now_ns()) < end);
}

void pause_before_next(const Decision& decision, const HoldWait& wait) {
  if (decision.reason == HoldReason::InFlightBound ||
      decision.reason == HoldReason::CommandsInFlight) {
    // Some kernels are shorter than usual.
    const Nanoseconds sure = wait.work_ends_in / 2 - kSleepOverrun;
    if (sure > kSleepOverrun) {
      sleep_sharply(std::min(sure, kMillisecond));
    } else {
      spin_for(2 * kMicrosecond);
    }
    return;
  }
  if (wait.held < kSpin || wait.ends_in < 2 * kSleepOverrun) {
    spin_for(2 * kMicrosecond);
  } else {
    sleep_sharply(kSleep);
  }
}

}  // namespace carpool::interpose
