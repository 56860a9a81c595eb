#include "interpose/library/gating/hold_pause.hpp"

#include <algorithm>

#include "interpose/library/clock.hpp"

namespace carpool::interpose {

using gate::Decision;
using gate::HoldReason;
using gate::kMicrosecond;
using gate::kMillisecond;
using gate::Nanoseconds;

namespace {

// A sleep ends up to this much late.
constexpr Nanoseconds kSleepOverrun = 100 * kMicrosecond;
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

void spin_for(Nanoseconds span) {
  const Nanoseconds end = static_cast<Nanoseconds>(exact_now_ns()) + span;
  do {
    for (int i = 0; i < 8; ++i) {
      rest_processor();
    }
  } while (static_cast<Nanoseconds>(exact_now_ns()) < end);
}

}  // namespace

void pause_before_next(const Decision& decision, Nanoseconds held, Nanoseconds work_ends_in) {
  if (decision.reason == HoldReason::InFlightBound ||
      decision.reason == HoldReason::CommandsInFlight) {
    // Some kernels are shorter than usual.
    const Nanoseconds sure = work_ends_in / 4 * 3 - kSleepOverrun;
    if (sure > kSleepOverrun) {
      pause_ns(std::min(sure, kMillisecond));
    } else {
      spin_for(2 * kMicrosecond);
    }
    return;
  }
  if (held < kSpin) {
    spin_for(2 * kMicrosecond);
  } else {
    pause_ns(kSleep);
  }
}

}  // namespace carpool::interpose
