// The rate of a count that grows: steps of a job, lines of its output, or its launches.
#pragma once

#include <optional>

#include "core/gpu_observation.hpp"

namespace carpool::observe {

// A total, and when it was reached, in seconds of monotonic_ns().
struct CountSeen {
  double count = 0.0;
  double at_s = 0.0;
};

class ProgressRate {
 public:
  explicit ProgressRate(ProgressSource source) : source_(source) {}

  // What follows runs in another group: no rate spans the change.
  void restart(double now_s);
  // A rate every few seconds, and only over whole steps.
  [[nodiscard]] std::optional<MeasuredRate> add(const CountSeen& seen);

 private:
  ProgressSource source_;
  double from_s_ = 0.0;
  std::optional<CountSeen> first_;
};

}  // namespace carpool::observe
