// How long a request has waited in its program before the GPU saw anything of it, by guess.
#pragma once

#include <cstdint>

#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

// A request that begins as soon as the one before it has ended was there before: it came while that
// one was waiting or computing, at a moment that is not known. It is taken for one that came after
// a quarter of that time. A program that never pauses between requests sends them one after the
// other, and none of them has waited.
class QueueWait {
 public:
  // `soon`: a gap up to this is none.
  explicit constexpr QueueWait(Nanoseconds soon) : soon_(soon) {}

  // A request begins; what it has waited.
  Nanoseconds began(Nanoseconds now);
  // It has ended, after `latency` with what it had waited.
  void ended(Nanoseconds at, Nanoseconds latency);

 private:
  Nanoseconds soon_;
  Nanoseconds ended_at_ = -1;  // of the last one; negative: there is none
  Nanoseconds latency_ = 0;    // of the last one
  std::uint32_t soon_permille_ = 0;
};

}  // namespace carpool::interpose::gate
