// Gates in the streams of a client that launches ahead of its turn. A gate divides the work of a
// stream into sections; the GPU stops between two of them while it is not the client's turn. So no
// more than a section, or one launch of each stream, runs on when a turn ends; while the number of
// streams that are used grows, up to two. What is launched after that waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

class TurnSections {
 public:
  // A launch that asks whether it needs a gate.
  struct Asks {
    std::uint64_t stream = 0;  // any name but 0
    Nanoseconds bound = 0;
    Nanoseconds section = 0;    // streams that are used in turn share it
    std::uint64_t closing = 0;  // number of the time for which the gates are closed; 0: open
  };

  // By bounds; or because the gates were closed after the stream got its last one. Otherwise a
  // program for which the GPU waits would launch the rest of its section into the request.
  [[nodiscard]] constexpr bool needs_gate(const Asks& asks) const {
    const Begun* const own = find(asks.stream);
    return own == nullptr || own->work + asks.bound > asks.section / in_use() ||
           (asks.closing != 0 && asks.closing != own->closing);
  }
  // It was launched.
  constexpr void add(const Asks& asks, bool behind_gate) {
    Begun& own = place_of(asks.stream);
    own = {.stream = asks.stream,
           .work = behind_gate ? asks.bound : own.work + asks.bound,
           .closing = behind_gate ? asks.closing : own.closing,
           .launch = ++launches_};
  }

 private:
  // With more of them each launch needs a gate.
  static constexpr std::size_t kMostStreams = 8;
  // One that got none of the last launches is not used any more.
  static constexpr std::uint64_t kForgotten = 64;

  struct Begun {
    std::uint64_t stream = 0;
    Nanoseconds work = 0;
    std::uint64_t closing = 0;  // in which it got its last gate
    std::uint64_t launch = 0;   // the last one
  };

  [[nodiscard]] constexpr bool is_used(const Begun& begun) const {
    return begun.stream != 0 && launches_ - begun.launch < kForgotten;
  }
  [[nodiscard]] constexpr const Begun* find(std::uint64_t stream) const {
    for (const Begun& begun : streams_) {
      if (begun.stream == stream && is_used(begun)) {
        return &begun;
      }
    }
    return nullptr;
  }
  [[nodiscard]] constexpr Nanoseconds in_use() const {
    Nanoseconds count = 0;
    for (const Begun& begun : streams_) {
      count += is_used(begun) ? 1 : 0;
    }
    return count;
  }
  // Else that of the stream that was not used for longest: its next launch gets a gate.
  [[nodiscard]] constexpr Begun& place_of(std::uint64_t stream) {
    Begun* oldest = streams_.data();
    for (Begun& begun : streams_) {
      if (begun.stream == stream) {
        return begun;
      }
      oldest = begun.launch < oldest->launch ? &begun : oldest;
    }
    return *oldest;
  }

  std::array<Begun, kMostStreams> streams_{};
  std::uint64_t launches_ = 0;
};

// How long the kernel is that runs at a moment, on average over the latest work, by expected
// durations.
class KernelLength {
 public:
  constexpr void add(Nanoseconds expected) {
    constexpr Nanoseconds kMemory = 50 * kMillisecond;
    const Nanoseconds counted = expected < kMemory ? expected : kMemory;
    all_ += counted;
    squares_ += counted / kMicrosecond * counted;
    if (all_ > kMemory) {
      all_ /= 2;
      squares_ /= 2;
    }
  }
  [[nodiscard]] constexpr Nanoseconds mean() const {
    return all_ == 0 ? 0 : squares_ / all_ * kMicrosecond;
  }

 private:
  Nanoseconds all_ = 0;
  Nanoseconds squares_ = 0;  // ns µs
};

// Whether sharing in space pays for a client that could take turns. `closed_permille`: part of the
// time that requests take. Beside them, on a part of the SMs, about a third of that is won; but
// each launch has to wait for the one before, and the GPU then waits for the launch.
[[nodiscard]] constexpr bool space_pays(Nanoseconds kernel, std::uint32_t closed_permille) {
  constexpr Nanoseconds kLostWithEach = 40 * kMicrosecond;
  return kernel / 3 * Nanoseconds{closed_permille} > kLostWithEach * 1000;
}

}  // namespace carpool::interpose::gate
