// What the waits of an SLO process for the GPU tell of its request.
#include <algorithm>

#include "interpose/library/real_driver.hpp"
#include "interpose/library/requests/slo_side.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

bool SloSide::wait_begins(Client& client, std::uint64_t now) {
  ClientGate& words = client.slot().gate;
  const std::uint64_t commands = words.commands_in_flight.load(std::memory_order_relaxed);
  if (commands == 0) {
    return false;
  }
  words.busy.fetch_add(1, std::memory_order_relaxed);
  words.waiting.fetch_add(1, std::memory_order_relaxed);
  const SpinLock::Attempt attempt(lock_);
  if (attempt.held()) {
    phase_.wait_began(static_cast<std::uint32_t>(std::min<std::uint64_t>(commands, 1U << 20U)),
                      static_cast<gate::Nanoseconds>(now));
  }
  words.lease_ns.store(now, std::memory_order_relaxed);
  return true;
}

bool SloSide::waits_for_legacy(StreamKey stream) {
  if (stream == reinterpret_cast<StreamKey>(&thread_mark)) {
    return true;
  }
  unsigned flags = 0;
  using GetFlags = Status(Handle, unsigned*);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the key of a stream is its handle
  return call_real<GetFlags>(Symbol::cuStreamGetFlags, reinterpret_cast<Handle>(stream), &flags) ==
             kSuccess &&
         (flags & kNonBlockingStream) == 0;
}

void SloSide::set_ahead(ClientGate& words, bool ahead) {
  if (ahead_.exchange(ahead, std::memory_order_relaxed) == ahead) {
    return;
  }
  if (ahead) {
    words.busy.fetch_add(kLaunchedAhead, std::memory_order_relaxed);
  } else {
    words.busy.fetch_sub(kLaunchedAhead, std::memory_order_relaxed);
  }
}

void SloSide::work_done(ClientGate& words, std::uint64_t covered) {
  const std::uint64_t left = order_.done(covered);
  words.commands_in_flight.store(left, std::memory_order_relaxed);
  waited_.store(left == 0, std::memory_order_relaxed);
  set_ahead(words, left != 0 && order_.ends_with_event());
}

void SloSide::polled(Client& client, std::uint64_t now, std::optional<std::uint64_t> covered) {
  ClientGate& words = client.slot().gate;
  if (words.commands_in_flight.load(std::memory_order_relaxed) == 0) {
    return;
  }
  if (!covered) {
    polls_.store(true, std::memory_order_relaxed);
    set_ahead(words, true);
  } else if (polls_.exchange(false, std::memory_order_relaxed)) {
    work_done(words, *covered);
  } else {
    return;  // of work that was done long ago, as memory pools ask
  }
  words.lease_ns.store(now, std::memory_order_relaxed);
}

void SloSide::wait_ends(Client& client, std::uint64_t now, std::optional<std::uint64_t> covered) {
  ClientGate& words = client.slot().gate;
  if (covered) {
    work_done(words, *covered);
    const SpinLock::Attempt attempt(lock_);
    if (attempt.held()) {
      phase_.wait_ended(
          static_cast<gate::Nanoseconds>(words.tail_ns.load(std::memory_order_relaxed)),
          static_cast<gate::Nanoseconds>(now));
      show_launch_phase(words);
    }
  }
  words.lease_ns.store(now, std::memory_order_relaxed);
  words.waiting.fetch_sub(1, std::memory_order_relaxed);
  words.busy.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace carpool::interpose
