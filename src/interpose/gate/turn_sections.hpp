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

// Which part of a program's work is heavy, by expected durations of the latest launches.
class HeavyShare {
 public:
  constexpr void add(Nanoseconds expected, bool heavy) {
    constexpr Nanoseconds kMemory = 50 * kMillisecond;
    all_ += expected;
    heavy_ += heavy ? expected : 0;
    if (all_ > kMemory) {
      all_ /= 2;
      heavy_ /= 2;
    }
  }
  [[nodiscard]] constexpr bool most() const { return heavy_ > all_ / 2; }

 private:
  Nanoseconds all_ = 0;
  Nanoseconds heavy_ = 0;
};

}  // namespace carpool::interpose::gate
