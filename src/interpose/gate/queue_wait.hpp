// How long a request has waited in its program before the GPU saw anything of it, by guess.
#pragma once

#include <cstdint>

#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

// A request that begins as soon as the one before it has ended was there before: it came while that
// one was waiting or computing, at a moment that is not known. The moment is drawn, as if requests
// came by a Poisson process with the rate that is seen: so no single latency is right, but their
// quantiles are. A program that never pauses between requests sends them one after the other, and
// none of them has waited.
class QueueWait {
 public:
  // `soon`: a gap up to this is none.
  explicit constexpr QueueWait(Nanoseconds soon) : soon_(soon) {}

  // A request begins; what it has waited.
  Nanoseconds began(Nanoseconds now);
  // It has ended, after `latency` with what it had waited.
  void ended(Nanoseconds at, Nanoseconds latency);

 private:
  void count(Nanoseconds now, bool soon);
  // From 0 to 1, not 1.
  [[nodiscard]] float draw();
  [[nodiscard]] Nanoseconds drawn_wait();

  Nanoseconds soon_;
  Nanoseconds ended_at_ = -1;  // of the last one; negative: there is none
  Nanoseconds latency_ = 0;    // of the last one
  Nanoseconds began_at_ = 0;   // of the last one
  std::uint32_t counted_ = 0;
  float soon_share_ = 0.0F;
  float interval_ns_ = 0.0F;  // between the begins of requests, mean
  std::uint64_t random_ = 0x9e3779b97f4a7c15;
};

}  // namespace carpool::interpose::gate
