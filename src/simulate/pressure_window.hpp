// The last samples of a GPU's counters as one number each, the way CARMA makes it.
#pragma once

#include <deque>
#include <span>

#include "core/cluster_snapshot.hpp"
#include "simulate/simulation_constants.hpp"

namespace carpool::simulate {

// 0.2 mean + 0.3 median + 0.3 95th percentile + 0.2 exponential mean (alpha 2 / (n + 1)); samples
// in the order of time.
[[nodiscard]] double window_score(std::span<const double> samples);

// What a GPU shows between changes is constant.
class PressureWindow {
 public:
  void change(double at_s, const GpuPressure& now);
  [[nodiscard]] GpuPressure summary(const SimulationConstants& constants, double now_s) const;

 private:
  struct Since {
    double at_s = 0.0;
    GpuPressure pressure{};
  };
  static constexpr std::size_t kRemembered = 64;
  std::deque<Since> changes_;
};

}  // namespace carpool::simulate
