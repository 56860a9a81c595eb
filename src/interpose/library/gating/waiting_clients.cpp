#include "interpose/library/gating/waiting_clients.hpp"

#include <algorithm>
#include <sys/types.h>

#include "interpose/gate/shared_words.hpp"
#include "interpose/state/process_facts.hpp"

namespace carpool::interpose {

using gate::Nanoseconds;

namespace {

// Half of the lease after which a silent client has no request.
constexpr Nanoseconds kBetweenSights = 50 * gate::kMillisecond;
// A request that lasts longer needs signs of its own: the program may have left it open.
constexpr Nanoseconds kLongestRequest = 10 * gate::kSecond;

}  // namespace

void WaitingClients::look(const SharedState& state, Nanoseconds now) {
  gate::for_each_slo_client(
      state, [&](std::uint32_t number) { look_at(state.clients[number], number, now); });
}

void WaitingClients::look_at(const ClientSlot& slot, std::uint32_t number, Nanoseconds now) {
  const ClientGate& words = slot.gate;
  const Nanoseconds began = gate::value_of(words.request_began_ns);
  const Nanoseconds last =
      std::max({gate::value_of(words.lease_ns), seen_[number], tried_[number]});
  // Work that was launched ahead may never be waited for: the lease alone bounds it.
  const bool waits = waits_for_gpu(words.busy.load(std::memory_order_relaxed));
  if (!waits || began == 0 || now - began > kLongestRequest || now - last < kBetweenSights) {
    return;
  }
  tried_[number] = now;
  if (own_namespace_ == 0) {
    own_namespace_ = own_pid_namespace();
  }
  const auto pid = static_cast<pid_t>(slot.pid.load(std::memory_order_relaxed));
  if (slot.pid_namespace.load(std::memory_order_relaxed) == own_namespace_ && process_runs(pid) &&
      start_ticks_of(pid) == slot.start_ticks.load(std::memory_order_relaxed)) {
    seen_[number] = now;
  }
}

}  // namespace carpool::interpose
