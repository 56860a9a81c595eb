// What the waits of an SLO process for the GPU tell of its request.
#include <algorithm>
#include <utility>

#include "interpose/library/clock.hpp"
#include "interpose/library/real_driver.hpp"
#include "interpose/library/requests/slo_side.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

constinit thread_local ThreadSigns thread_signs{};  // NOLINT

bool SloSide::wait_begins(Client& client, std::uint64_t now, bool phase) {
  ClientGate& words = client.slot().gate;
  const std::uint64_t commands = words.commands_in_flight.load(std::memory_order_relaxed);
  if (commands == 0 && !works(now)) {
    return false;
  }
  words.busy.fetch_add(1, std::memory_order_relaxed);
  words.waiting.fetch_add(1, std::memory_order_relaxed);
  const SpinLock::Attempt attempt(lock_);
  if (phase && attempt.held()) {
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
  if (capture_alive()) {
    return false;  // the driver must not be asked
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

void SloSide::recorded(Client& client, Handle event, StreamKey stream) {
  order_.recorded(event, stream);
  if (has_event_behind(exact_now_ns())) {
    set_ahead(client.slot().gate, true);  // it will be waited for
  }
}

WorkOrder::Progress SloSide::work_done(ClientGate& words,
                                       std::uint64_t now,
                                       const Reach& reach,
                                       std::uint64_t own_waits) {
  const std::uint64_t busy = words.busy.load(std::memory_order_relaxed) % kLaunchedAhead;
  const WorkOrder::Progress progress =
      order_.done(reach, since(now, busy > own_waits ? kForgottenBesideWaits : kForgotten));
  if (progress.all_done()) {
    words.commands_in_flight.store(0, std::memory_order_relaxed);
    set_ahead(words, false);
  }
  const SpinLock::Holder held(lock_);
  if (declares_.load(std::memory_order_relaxed)) {
    return progress;
  }
  open_.waited(reach.newest(), progress.oldest, now, [&](const OpenRequest& request) {
    count(words, request, now);
  });
  if (progress.is_news && reach.newest() > launches_before_) {
    waited_launches_ = std::max(waited_launches_, reach.newest());
    waited_ns_ = now;
    others_waited_ = false;
  } else if (progress.is_news) {
    others_waited_ = true;
  }
  // Input that another thread copies ahead is not the begin of a request.
  if (progress.is_news && beside_wait_ && order_.launches() == launches_before_) {
    close(words);
  }
  show_arrival(words);
  return progress;
}

std::optional<Reach> SloSide::asked(const Awaited& awaited) {
  return order_.works(0) ? order_.known_reach_of(awaited) : std::nullopt;
}

void SloSide::answered(Client& client, std::uint64_t now, const Reach& reach, bool done) {
  ClientGate& words = client.slot().gate;
  if (!done) {
    order_.still_works(reach, now);
  }
  if (!works(now)) {
    return;
  }
  if (!done) {
    thread_signs.asked = true;
    set_ahead(words, true);
  } else if (!work_done(words, now, reach, 0).is_news) {
    return;  // of work that was done long ago, as memory pools ask
  } else if (std::exchange(thread_signs.asked, false)) {
    waited_.store(true, std::memory_order_relaxed);
  }
  words.lease_ns.store(now, std::memory_order_relaxed);
}

void SloSide::wait_ends(Client& client, std::uint64_t now, const std::optional<Reach>& reach) {
  ClientGate& words = client.slot().gate;
  if (reach) {
    const WorkOrder::Progress progress = work_done(words, now, *reach, 1);
    if (progress.is_news) {
      if (!thread_signs.launched) {
        waited_.store(true, std::memory_order_relaxed);
      }
      thread_signs = {.waited = true};
    }
    if (!progress.all_done()) {
      words.commands_in_flight.store(order_.launches() + 1 - progress.oldest,
                                     std::memory_order_relaxed);
      set_ahead(words, has_event_behind(now));
    }
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

bool SloSide::callback_is_due(Client& client, std::uint64_t now) {
  ClientGate& words = client.slot().gate;
  if (!works(now)) {
    return false;
  }
  words.busy.fetch_add(1, std::memory_order_relaxed);
  words.lease_ns.store(now, std::memory_order_relaxed);
  return true;
}

void SloSide::callback_ends(Client& client, std::uint64_t now, const std::optional<Reach>& reach) {
  ClientGate& words = client.slot().gate;
  if (reach && work_done(words, now, *reach, 1).is_news) {
    waited_.store(true, std::memory_order_relaxed);
  }
  words.lease_ns.store(now, std::memory_order_relaxed);
  words.busy.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace carpool::interpose
