#include "interpose/library/requests/work_order.hpp"

#include <algorithm>

namespace carpool::interpose {
namespace {

std::uint64_t event_key(Handle event) {
  return reinterpret_cast<std::uintptr_t>(event);
}

}  // namespace

// The legacy stream waits for the others, as far as they wait for it.
std::uint64_t WorkOrder::covered_by(StreamKey stream) const {
  if (stream == kLegacyStream) {
    return launches_.load(std::memory_order_relaxed);
  }
  const std::uint64_t own = streams_.find(stream);
  if (own == 0 && lost_.load(std::memory_order_relaxed)) {
    return launches_.load(std::memory_order_relaxed);  // as if it were behind everything
  }
  const std::uint64_t legacy = legacy_.load(std::memory_order_relaxed);
  return legacy > own && waits_for_legacy_(stream) ? legacy : own;
}

void WorkOrder::recorded(Handle event, StreamKey stream) {
  const std::uint64_t covered = covered_by(stream);
  events_.put(event_key(event), covered + 1);
  if (covered > last_recorded_.load(std::memory_order_relaxed)) {
    last_recorded_.store(covered, std::memory_order_relaxed);
  }
}

std::uint64_t WorkOrder::done(std::uint64_t covered) {
  covered = std::max(covered, done_.load(std::memory_order_relaxed));
  done_.store(covered, std::memory_order_relaxed);
  const std::uint64_t all = launches_.load(std::memory_order_relaxed);
  return all > covered ? all - covered : 0;
}

void WorkOrder::joined(StreamKey stream, Handle event) {
  if (stream == kLegacyStream) {
    return;
  }
  const std::uint64_t covered =
      std::max(covered_by(stream), covered_by({.kind = Awaited::Kind::Event, .event = event}));
  if (covered != 0) {
    put(stream, covered);
  }
}

std::uint64_t WorkOrder::covered_by(const Awaited& awaited) const {
  switch (awaited.kind) {
    case Awaited::Kind::Copy:
      return 0;
    case Awaited::Kind::Stream:
      return covered_by(awaited.stream);
    case Awaited::Kind::Event:
      // One that was not seen, such as an event of a graph, counts as behind everything.
      if (const std::uint64_t known = events_.find(event_key(awaited.event)); known != 0) {
        return known - 1;
      }
      break;
    case Awaited::Kind::All:
      break;
  }
  return launches_.load(std::memory_order_relaxed);
}

}  // namespace carpool::interpose
