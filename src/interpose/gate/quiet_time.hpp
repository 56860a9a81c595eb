// How long a program may be silent, after it has waited for the GPU, before its request has ended.
#pragma once

#include "interpose/gate/quantile_sketch.hpp"
#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

// Learned from the pauses of the program that were short: between two parts of a request, or before
// the next request of a queue. While best-effort work waits for longer than such a pause, the GPU
// stands still.
class QuietTime {
 public:
  // `most`: a longer pause is the end of a request in any case; and the answer until enough pauses
  // are known.
  explicit constexpr QuietTime(Nanoseconds most) : most_(most) {}

  // The program has waited for the GPU, and then launched again after this time.
  void paused(Nanoseconds pause);
  [[nodiscard]] Nanoseconds value() const;

 private:
  Nanoseconds most_;
  QuantileSketch pauses_{256};
};

}  // namespace carpool::interpose::gate
