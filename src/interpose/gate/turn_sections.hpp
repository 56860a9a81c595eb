// Gates in the streams of a client that launches ahead of its turn. A gate divides the work of a
// stream into sections; the GPU stops between two of them while it is not the client's turn. So no
// more than a section, or one launch, runs on when a turn ends.
#pragma once

#include <cstdint>

#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

class TurnSections {
 public:
  // Whether a gate is needed in front of this launch, by bounds. `stream`: any name but 0.
  [[nodiscard]] constexpr bool needs_gate(std::uint64_t stream,
                                          Nanoseconds bound,
                                          Nanoseconds section) const {
    return stream != stream_ || begun_ + bound > section;
  }
  // It was launched.
  constexpr void add(std::uint64_t stream, Nanoseconds bound, bool behind_gate) {
    begun_ = behind_gate ? bound : begun_ + bound;
    stream_ = stream;
  }

 private:
  // A launch to another stream gets a gate of its own, so only the last one is remembered.
  std::uint64_t stream_ = 0;
  Nanoseconds begun_ = 0;
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
