// What the gate believes of durations of kernels.
#pragma once

#include <cstdint>

#include "interpose/gate/quantile_sketch.hpp"
#include "interpose/gate/work.hpp"
#include "interpose/state/kernel_table.hpp"

namespace carpool::interpose::gate {

class DurationBelief {
 public:
  // Any measured kernel of the best-effort clients.
  void learn(Nanoseconds measured_ns);

  // Sets known, expected_ns and bound_ns of a launch from what the kernel table knows. A single
  // sample makes no kernel longer than an unknown one.
  void estimate(Work& work, const KernelEstimate& known) const;

  // The 90th percentile of measured kernels; 0 if none was measured.
  [[nodiscard]] Nanoseconds of_long() const { return long_ns_; }

 private:
  QuantileSketch durations_{4096};
  std::uint32_t learned_ = 0;
  // What a kernel that was never measured is taken for: the 95th percentile of those that were;
  // 1 ms before 32 were.
  Nanoseconds unknown_ns_ = kMillisecond;
  Nanoseconds long_ns_ = 0;
};

}  // namespace carpool::interpose::gate
