#include "interpose/library/gating/gate_keeper.hpp"

#include <algorithm>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose/gate/policies/policies.hpp"
#include "interpose/library/clock.hpp"
#include "interpose/library/gating/hold_pause.hpp"
#include "interpose/library/gating/sign_bell.hpp"
#include "interpose/library/own_thread.hpp"

namespace carpool::interpose {

using gate::HoldReason;
using gate::kMicrosecond;
using gate::kMillisecond;
using gate::kSecond;
using gate::Nanoseconds;

namespace {

constexpr std::size_t kKeeperStackBytes = std::size_t{256} << 10U;
// While the gate is closed; and while it is open, unless a sign comes before.
constexpr Nanoseconds kBetweenLooks = 40 * kMicrosecond;
constexpr Nanoseconds kLongestSleep = kMillisecond;
constexpr Nanoseconds kWorthASleep = 100 * kMicrosecond;
constexpr Nanoseconds kLongestSpin = kMillisecond;
// A thread that the system has not run for so long is not relied on.
constexpr Nanoseconds kStale = 20 * kMillisecond;
// Without a launch for so long the thread parks, and the gate stays open: nothing that was launched
// waits longer.
constexpr Nanoseconds kParkAfter = kSecond;

// A request that is expected closes the gate before it comes.
Nanoseconds open_for(const gate::GateView& view, Nanoseconds now) {
  const Nanoseconds arrival = view.slo.next_arrival;
  return arrival == gate::kNever
             ? kLongestSleep
             : std::clamp(arrival - view.budget.idle_ns - now, kBetweenLooks, kLongestSleep);
}

}  // namespace

GateKeeper::Sight GateKeeper::look(Client& client,
                                   StreamGate& gate,
                                   const gate::DeviceFacts& device,
                                   Nanoseconds now) {
  launched_at_.store(now, std::memory_order_seq_cst);
  if (!tried_) {
    tried_ = true;
    client_ = &client;
    gate_ = &gate;
    device_ = device;
    static_cast<void>(start_thread(&GateKeeper::run, this, kKeeperStackBytes));  // else never fresh
  }
  if (parked_.load(std::memory_order_seq_cst)) {
    wakes_.fetch_add(1);
    ::syscall(SYS_futex, &wakes_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  return {.fresh = now - looked_at_.load(std::memory_order_acquire) < kStale,
          .sliced = sliced_.load(std::memory_order_relaxed),
          .room = room_.load(std::memory_order_relaxed),
          .closed_permille = closed_permille_.load(std::memory_order_relaxed),
          .section = section_.load(std::memory_order_relaxed),
          .longest = longest_.load(std::memory_order_relaxed)};
}

void* GateKeeper::run(void* self) {
  ::prctl(PR_SET_NAME, "carpool-gate");
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  static_cast<GateKeeper*>(self)->keep();
  return nullptr;
}

void GateKeeper::keep() {
  for (;;) {
    const Nanoseconds now = exact_now();
    if (now - launched_at_.load(std::memory_order_relaxed) > kParkAfter) {
      park();
    } else {
      look_once(now);
    }
  }
}

void GateKeeper::park() {
  const std::uint32_t seen = wakes_.load();
  looked_at_.store(0, std::memory_order_release);
  gate_->open();
  closed_at_ = 0;
  reason_ = HoldReason::None;
  parked_.store(true, std::memory_order_seq_cst);
  if (exact_now() - launched_at_.load(std::memory_order_seq_cst) > kParkAfter) {
    ::syscall(SYS_futex, &wakes_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  }
  parked_.store(false);
}

gate::GateView GateKeeper::view_of(const SharedState& state, Nanoseconds now) {
  gate::GateView view = gate::shared_view(state,
                                          device_,
                                          {.slot = client_->id().slot,
                                           .held_for = closed_at_ == 0 ? 0 : now - closed_at_,
                                           .alive = alive_.last_seen()},
                                          now);
  // Best-effort processes do not wait for one another at the gate.
  view.best_effort = {};
  view.caller.turn_lag = 0;
  return view;
}

// For work as long as what may be behind the gate.
gate::Decision GateKeeper::decide(const gate::GateView& view, Nanoseconds now) {
  const Nanoseconds longest = view.slo.tightest_slo / gate::kLongPartOfSlo;
  const Nanoseconds usual = std::max(view.budget.backlog_ns, long_kernel_.load());
  const Nanoseconds bound = std::min(usual, longest);
  gate::Decision decision =
      gate::decide_time(view, {}, {.known = true, .expected_ns = bound, .bound_ns = bound}, now);
  if (closed_at_ == 0) {
    return decision;
  }
  const Nanoseconds closed = now - closed_at_;
  // Where the driver slices the time, the minimum share takes a slice.
  const Nanoseconds least = view.device.mps ? 0 : gate::kSlice * 1000 / gate::kMinimumSharePermille;
  if (decision.by_minimum_share && closed < least) {
    decision = gate::hold(HoldReason::RequestActive, now, closed_at_ + least);
  }
  if (!decision.admitted && closed >= kLongestHold) {
    decision = gate::admit();
    decision.by_minimum_share = true;
  }
  return decision;
}

void GateKeeper::publish(const SharedState& state, const gate::GateView& view, Nanoseconds now) {
  const bool room = now >= view.budget.time_only_until &&
                    gate::slos_leave_room(state, room_.load(std::memory_order_relaxed));
  section_.store(view.budget.backlog_ns, std::memory_order_relaxed);
  longest_.store(view.slo.tightest_slo / gate::kLongPartOfSlo, std::memory_order_relaxed);
  sliced_.store(!view.device.mps, std::memory_order_relaxed);
  room_.store(room, std::memory_order_relaxed);
  looked_at_.store(now, std::memory_order_release);
}

void GateKeeper::look_once(Nanoseconds now) {
  SharedState* const state = client_->shared();
  if (state == nullptr) {
    gate_->open();
    pause_ns(kMillisecond);
    return;
  }
  const std::uint32_t signs = bell_count(*state);
  alive_.look(*state, now);
  const gate::GateView view = view_of(*state, now);
  const gate::Decision decision = decide(view, now);
  count_hold(decision.admitted ? HoldReason::None : decision.reason, now);
  publish(*state, view, now);
  if (decision.admitted) {
    gate_->open();
    closed_at_ = 0;
    if (decision.by_minimum_share && !view.device.mps) {
      // The GPU looks at the gate when it is this process's turn, after a slice of the service.
      pause_ns(gate::kSlice + kBetweenLooks);
    } else if (decision.by_minimum_share || view.slo.phase != gate::RequestPhase::Idle) {
      pause_ns(kBetweenLooks);
    } else {
      sleep_until_bell(*state, signs, open_for(view, now));
    }
    return;
  }
  gate_->close();
  may_spin_ = closed_at_ == 0 ? kLongestSpin : may_spin_;
  closed_at_ = closed_at_ == 0 ? now : closed_at_;
  wait_closed(decision, view.slo.remaining, now);
}

// A sleep ends late: it is not worth it shortly before the gate opens.
void GateKeeper::wait_closed(const gate::Decision& decision,
                             Nanoseconds remaining,
                             Nanoseconds now) {
  const Nanoseconds left = decision.until - now;
  if (may_spin_ > 0 && std::min(remaining, left) < kWorthASleep) {
    constexpr Nanoseconds kSpin = 2 * kMicrosecond;
    spin_for(kSpin);
    may_spin_ -= kSpin;
  } else {
    pause_ns(std::clamp(left, kMicrosecond, kBetweenLooks));
  }
}

void GateKeeper::count_hold(HoldReason reason, Nanoseconds now) {
  ClientGate& words = client_->slot().gate;
  count_time(reason_ != HoldReason::None, now - counted_at_);
  const bool used = used_.load(std::memory_order_relaxed);
  if (used && reason_ != HoldReason::None) {
    words.held_ns[static_cast<std::size_t>(reason_)].fetch_add(
        static_cast<std::uint64_t>(now - counted_at_), std::memory_order_relaxed);
  }
  if (used && reason != reason_ && reason != HoldReason::None) {
    words.holds[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }
  reason_ = reason;
  counted_at_ = now;
}

void GateKeeper::count_time(bool closed, Nanoseconds span) {
  constexpr Nanoseconds kMemory = 2 * kSecond;
  if (span > kMemory) {
    return;  // the thread has slept
  }
  looked_for_ += span;
  closed_for_ += closed ? span : 0;
  if (looked_for_ > kMemory) {
    looked_for_ /= 2;
    closed_for_ /= 2;
  }
  const Nanoseconds permille = closed_for_ * 1000 / std::max<Nanoseconds>(1, looked_for_);
  closed_permille_.store(static_cast<std::uint32_t>(permille), std::memory_order_relaxed);
}

}  // namespace carpool::interpose
