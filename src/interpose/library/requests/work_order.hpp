// Which work of an SLO process is done when one of its waits ends. Launches are numbered; each
// stream knows its last one, and up to which they are done. Work of streams that have nothing to do
// with what is awaited stays: they may belong to other threads and requests.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "interpose/library/captures.hpp"
#include "interpose/library/fixed_table.hpp"
#include "interpose/library/requests/reach.hpp"
#include "interpose/library/spin_lock.hpp"

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
  // Whether a stream waits for what the legacy stream got before, and that one for it: one that is
  // not non-blocking. Asked once, by the thread that uses it first.
  using WaitsForLegacy = bool(StreamKey stream);
  explicit constexpr WorkOrder(WaitsForLegacy* waits) : waits_for_legacy_(waits) {}

  void launched(StreamKey key, std::uint64_t now) {
    const std::uint64_t number = launches_.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::uint32_t place = key == kLegacyStream ? kLegacyPlace : place_of(key);
    Stream& stream = streams_[place];
    if (!stream.works()) {
      stream.first.store(number, std::memory_order_relaxed);
    }
    stream.last.store(number, std::memory_order_relaxed);
    stream.last_ns.store(now, std::memory_order_relaxed);
    if (own_launch.has_event) [[unlikely]] {
      forget_event();
    }
    own_launch = {.order = this, .number = number, .place = place};
  }
  void stream_destroyed(StreamKey key);
  void recorded(Handle event, StreamKey key);
  void event_destroyed(Handle event);
  // The stream waits for the event.
  void joined(StreamKey key, Handle event);

  [[nodiscard]] std::uint64_t launches() const { return launches_.load(std::memory_order_relaxed); }
  // Work that was launched since then is on the GPU, as far as waits have told.
  [[nodiscard]] bool works(std::uint64_t since) const;
  // The driver says that what is reached is not done: it is not forgotten.
  void still_works(const Reach& reach, std::uint64_t now);
  // The last launch of a thread has an event behind it: a program that waited for less means to
  // wait for that one later.
  [[nodiscard]] bool has_event_behind(std::uint64_t since) const;

  // What is done once what is awaited is.
  [[nodiscard]] Reach reach_of(const Awaited& awaited);
  // Empty: of an event that was not recorded here, such as one of another GPU.
  [[nodiscard]] std::optional<Reach> known_reach_of(const Awaited& awaited);

  struct Progress {
    bool is_news = false;                                              // something was not known
    std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();  // launch that is not done
    [[nodiscard]] bool all_done() const {
      return oldest == std::numeric_limits<std::uint64_t>::max();
    }
  };
  // Work of streams without a launch since then is never waited for: it does not count.
  Progress done(const Reach& reach, std::uint64_t since);

 private:
  struct Stream {
    std::atomic<StreamKey> key{kNoStream};
    std::atomic<std::uint64_t> first{0};  // launch since the stream had none
    std::atomic<std::uint64_t> last{0};
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> recorded{0};  // that has an event, and was the last of its thread
    std::atomic<std::uint64_t> last_ns{0};
    std::atomic<bool> blocking{false};  // it and the legacy stream wait for each other
    Reach joined{};                     // with the lock held

    [[nodiscard]] bool works() const {
      return last.load(std::memory_order_relaxed) > done.load(std::memory_order_relaxed);
    }
    void reset(StreamKey new_key, bool waits_for_legacy);
    void done_up_to(std::uint64_t number);
  };
  struct Event {
    Handle event = nullptr;
    Reach reach{};
  };
  static constexpr std::uint32_t kStreams = 128;
  static constexpr std::uint32_t kEvents = 1024;
  static constexpr std::uint32_t kLegacyPlace = 0;
  static constexpr std::uint32_t kSharedPlace = 1;  // of streams that found no other

  // The last one of a thread, on whichever GPU.
  struct OwnLaunch {
    const WorkOrder* order = nullptr;
    std::uint64_t number = 0;
    std::uint32_t place = 0;
    bool has_event = false;
  };
  static constinit thread_local OwnLaunch own_launch;  // NOLINT

  std::uint32_t place_of(StreamKey key) {
    const std::uint64_t place = places_.find(key);
    return place != 0 ? static_cast<std::uint32_t>(place) : new_place(key);
  }
  std::uint32_t new_place(StreamKey key);
  void forget_event();
  void add_blocking_streams(Reach& reach) const;
  [[nodiscard]] Reach reach_of_stream(StreamKey key);
  [[nodiscard]] std::optional<Reach> reach_of_event(Handle event);
  [[nodiscard]] Reach reach_of_all() const;
  [[nodiscard]] Event& event_of(Handle event, bool make);

  WaitsForLegacy* waits_for_legacy_;
  std::atomic<std::uint64_t> launches_{0};
  std::atomic<std::uint32_t> used_{2};  // places of streams
  std::atomic<bool> lost_{false};       // streams that found no place of their own
  SpinLock lock_{};                     // of what follows, but for the words of a stream
  FixedTable<std::size_t{4} * kStreams> places_{};
  std::array<Stream, kStreams> streams_{};
  std::array<Event, kEvents> events_{};
};

}  // namespace carpool::interpose
