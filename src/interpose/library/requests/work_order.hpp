// Which work of an SLO process is done when one of its waits ends. Launches are numbered. A stream
// that is done covers the launches up to the last one that it got, or that it waited for by an
// event; so does an event that was recorded in it. Launches of other streams with lower numbers
// count as covered, too: programs mostly join their streams.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/library/captures.hpp"
#include "interpose/library/fixed_table.hpp"

namespace carpool::interpose {

// What a program waits for.
struct Awaited {
  enum class Kind : std::uint8_t {
    Copy,    // the memory of a copy, which tells nothing of other work
    All,     // all that was launched
    Stream,  // of this key
    Event,
  };
  Kind kind = Kind::All;
  StreamKey stream = kNoStream;
  Handle event = nullptr;
};

class WorkOrder {
 public:
  // Whether a stream waits for what the legacy stream got before: one that is not non-blocking.
  using WaitsForLegacy = bool(StreamKey stream);
  explicit constexpr WorkOrder(WaitsForLegacy* waits) : waits_for_legacy_(waits) {}

  void launched(StreamKey stream) {
    const std::uint64_t number = launches_.load(std::memory_order_relaxed) + 1;
    launches_.store(number, std::memory_order_relaxed);
    if (stream == kLegacyStream) {
      legacy_.store(number, std::memory_order_relaxed);
    } else {
      put(stream, number);
    }
  }
  void destroyed(StreamKey stream) { streams_.erase(stream); }
  void recorded(Handle event, StreamKey stream);
  // The stream waits for the event.
  void joined(StreamKey stream, Handle event);

  // The launches that are done once what is awaited is.
  [[nodiscard]] std::uint64_t covered_by(const Awaited& awaited) const;
  // The launches up to `covered` are done. Returns how many are not.
  std::uint64_t done(std::uint64_t covered);
  // Whether an event was recorded behind the last launch: a program that waited for less means to
  // wait for that one later.
  [[nodiscard]] bool ends_with_event() const {
    return last_recorded_.load(std::memory_order_relaxed) >=
           launches_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] std::uint64_t covered_by(StreamKey stream) const;

  void put(StreamKey stream, std::uint64_t number) {
    if (!streams_.put(stream, number)) [[unlikely]] {
      lost_.store(true, std::memory_order_relaxed);
    }
  }

  static constexpr std::size_t kStreams = 256;
  static constexpr std::size_t kEvents = 1024;

  WaitsForLegacy* waits_for_legacy_;
  std::atomic<std::uint64_t> launches_{0};
  std::atomic<std::uint64_t> legacy_{0};         // the last one in the legacy stream
  std::atomic<std::uint64_t> done_{0};           // of them, as far as waits told
  std::atomic<std::uint64_t> last_recorded_{0};  // that an event covers
  std::atomic<bool> lost_{false};                // streams that found no place
  FixedTable<kStreams> streams_{};               // numbers of launches
  FixedTable<kEvents> events_{};                 // one more than these
};

}  // namespace carpool::interpose
