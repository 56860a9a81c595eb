#include "interpose/library/requests/work_order.hpp"

#include <algorithm>

namespace carpool::interpose {
namespace {

constexpr std::uint32_t kEventSteps = 16;
constexpr std::uint64_t kEventSpread = 0x9e3779b97f4a7c15;

}  // namespace

constinit thread_local WorkOrder::OwnLaunch WorkOrder::own_launch{};  // NOLINT

void WorkOrder::Stream::reset(StreamKey new_key, bool waits_for_legacy) {
  last.store(0, std::memory_order_relaxed);
  done.store(0, std::memory_order_relaxed);
  recorded.store(0, std::memory_order_relaxed);
  blocking.store(waits_for_legacy, std::memory_order_relaxed);
  joined = {};
  key.store(new_key, std::memory_order_relaxed);
}

// Another thread may have heard of more.
void WorkOrder::Stream::done_up_to(std::uint64_t number) {
  std::uint64_t before = done.load(std::memory_order_relaxed);
  while (before < number &&
         !done.compare_exchange_weak(before, number, std::memory_order_relaxed)) {
  }
}

std::uint32_t WorkOrder::new_place(StreamKey key) {
  const bool blocking = waits_for_legacy_(key);
  const SpinLock::Holder held(lock_);
  if (const std::uint64_t place = places_.find(key); place != 0) {
    return static_cast<std::uint32_t>(place);  // by another thread meanwhile
  }
  for (std::uint32_t place = kSharedPlace + 1; place < kStreams; ++place) {
    Stream& stream = streams_[place];
    if (stream.key.load(std::memory_order_relaxed) == kNoStream && places_.set(key, place)) {
      stream.reset(key, blocking);
      used_.store(std::max(used_.load(std::memory_order_relaxed), place + 1),
                  std::memory_order_relaxed);
      return place;
    }
  }
  lost_.store(true, std::memory_order_relaxed);
  return kSharedPlace;
}

void WorkOrder::stream_destroyed(StreamKey key) {
  const SpinLock::Holder held(lock_);
  if (const std::uint64_t place = places_.find(key); place != 0) {
    places_.erase(key);
    streams_[place].reset(kNoStream, false);
  }
}

bool WorkOrder::works(std::uint64_t since) const {
  const std::uint32_t used = used_.load(std::memory_order_relaxed);
  return std::any_of(streams_.begin(), streams_.begin() + used, [&](const Stream& stream) {
    return stream.works() && stream.last_ns.load(std::memory_order_relaxed) >= since;
  });
}

void WorkOrder::still_works(const Reach& reach, std::uint64_t now) {
  const std::uint32_t used = used_.load(std::memory_order_relaxed);
  for (std::uint32_t place = 0; place < used; ++place) {
    Stream& stream = streams_[place];
    const bool blocking = stream.blocking.load(std::memory_order_relaxed);
    if (stream.works() &&
        reach.number_of(place, blocking) > stream.done.load(std::memory_order_relaxed)) {
      stream.last_ns.store(now, std::memory_order_relaxed);
    }
  }
}

bool WorkOrder::has_event_behind(std::uint64_t since) const {
  const std::uint32_t used = used_.load(std::memory_order_relaxed);
  return std::any_of(streams_.begin(), streams_.begin() + used, [&](const Stream& stream) {
    return stream.recorded.load(std::memory_order_relaxed) >
               stream.done.load(std::memory_order_relaxed) &&
           stream.last_ns.load(std::memory_order_relaxed) >= since;
  });
}

// With the lock held.
void WorkOrder::add_blocking_streams(Reach& reach) const {
  const std::uint32_t used = used_.load(std::memory_order_relaxed);
  for (std::uint32_t place = 0; place < used; ++place) {
    const Stream& stream = streams_[place];
    if (stream.blocking.load(std::memory_order_relaxed)) {
      reach.add(stream.joined);
      reach.add_blocking(stream.last.load(std::memory_order_relaxed));
    }
  }
}

// The legacy stream waits for the others that are not non-blocking at each of its commands, and
// they for it. Copies are commands, too, and not followed: so a wait for one of these streams
// covers all of them.
Reach WorkOrder::reach_of_stream(StreamKey key) {
  const Stream& legacy = streams_[kLegacyPlace];
  const auto place =
      static_cast<std::uint32_t>(key == kLegacyStream ? kLegacyPlace : places_.find(key));
  const bool known = place != 0 || key == kLegacyStream;
  if (!known && lost_.load(std::memory_order_relaxed)) {
    return reach_of_all();
  }
  const bool blocking =
      known ? streams_[place].blocking.load(std::memory_order_relaxed) : waits_for_legacy_(key);
  Reach reach;
  const SpinLock::Holder held(lock_);
  if (place == kLegacyPlace && known) {
    add_blocking_streams(reach);
  } else if (blocking) {
    reach.add(legacy.joined);
    reach.add(kLegacyPlace, legacy.last.load(std::memory_order_relaxed));
  }
  if (known) {
    reach.add(streams_[place].joined);
    reach.add(place, streams_[place].last.load(std::memory_order_relaxed));
  }
  return reach;
}

// With the lock held. The place of another event is taken where there is no free one: of the
// oldest, which is done by now.
WorkOrder::Event& WorkOrder::event_of(Handle event, bool make) {
  const auto hash =
      static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(event) * kEventSpread) >> 32U);
  Event* best = nullptr;
  for (std::uint32_t step = 0; step < kEventSteps; ++step) {
    Event& place = events_[(hash + step) % kEvents];
    if (place.event == event) {
      return place;
    }
    const auto worth = [](const Event& one) {
      return one.event == nullptr ? 0 : one.reach.newest() + 1;
    };
    best = best == nullptr || worth(place) < worth(*best) ? &place : best;
  }
  if (make) {
    *best = {.event = event};
  }
  return *best;
}

void WorkOrder::recorded(Handle event, StreamKey key) {
  const Reach reach = reach_of_stream(key);
  const SpinLock::Holder held(lock_);
  event_of(event, true).reach = reach;
  if (own_launch.order != this) {
    return;
  }
  Stream& stream = streams_[own_launch.place];
  const bool blocking = stream.blocking.load(std::memory_order_relaxed);
  if (reach.number_of(own_launch.place, blocking) >= own_launch.number) {
    stream.recorded.store(own_launch.number, std::memory_order_relaxed);
    own_launch.has_event = true;
  }
}

// The thread has launched something else since: it may never wait for the event. That of another
// thread stays.
void WorkOrder::forget_event() {
  if (own_launch.order != this) {
    return;
  }
  std::uint64_t own = own_launch.number;
  streams_[own_launch.place].recorded.compare_exchange_strong(own, 0, std::memory_order_relaxed);
}

void WorkOrder::event_destroyed(Handle event) {
  const SpinLock::Holder held(lock_);
  if (Event& place = event_of(event, false); place.event == event) {
    place = {};
  }
}

std::optional<Reach> WorkOrder::reach_of_event(Handle event) {
  const SpinLock::Holder held(lock_);
  const Event& place = event_of(event, false);
  return place.event == event ? std::optional(place.reach) : std::nullopt;
}

Reach WorkOrder::reach_of_all() const {
  Reach reach;
  reach.add_all(launches());
  return reach;
}

void WorkOrder::joined(StreamKey key, Handle event) {
  const Reach reach = reach_of({.kind = Awaited::Kind::Event, .event = event});
  if (reach.newest() == 0) {
    return;
  }
  Stream& stream = streams_[key == kLegacyStream ? kLegacyPlace : place_of(key)];
  const SpinLock::Holder held(lock_);
  stream.joined.drop([this](std::uint32_t place, std::uint64_t number) {
    return number <= streams_[place].done.load(std::memory_order_relaxed);
  });
  stream.joined.add(reach);
}

// An event that was not seen, such as one of a graph, counts as behind everything.
Reach WorkOrder::reach_of(const Awaited& awaited) {
  return known_reach_of(awaited).value_or(reach_of_all());
}

std::optional<Reach> WorkOrder::known_reach_of(const Awaited& awaited) {
  switch (awaited.kind) {
    case Awaited::Kind::Copy:
      break;
    case Awaited::Kind::All:
      return reach_of_all();
    case Awaited::Kind::Stream:
      return reach_of_stream(awaited.stream);
    case Awaited::Kind::Event:
      return reach_of_event(awaited.event);
  }
  return Reach{};
}

WorkOrder::Progress WorkOrder::done(const Reach& reach, std::uint64_t since) {
  Progress progress;
  const std::uint32_t used = used_.load(std::memory_order_relaxed);
  for (std::uint32_t place = 0; place < used; ++place) {
    Stream& stream = streams_[place];
    if (!stream.works()) {
      continue;
    }
    const std::uint64_t last = stream.last.load(std::memory_order_relaxed);
    const std::uint64_t before = stream.done.load(std::memory_order_relaxed);
    const bool blocking = stream.blocking.load(std::memory_order_relaxed);
    const std::uint64_t now = std::min(reach.number_of(place, blocking), last);
    if (now > before) {
      stream.done_up_to(now);
      progress.is_news = true;
    }
    if (now < last && stream.last_ns.load(std::memory_order_relaxed) >= since) {
      const std::uint64_t first = stream.first.load(std::memory_order_relaxed);
      progress.oldest = std::min(progress.oldest, std::max({first, now + 1, before + 1}));
    }
  }
  return progress;
}

}  // namespace carpool::interpose
