// The counters of a simulated GPU over the last seconds, as CARMA scores them.
#pragma once

#include <deque>

#include "core/cluster_snapshot.hpp"
#include "simulate/simulation_constants.hpp"

namespace carpool::simulate {

// Counters are constant between changes.
class PressureWindow {
 public:
  void change(double at_s, const GpuPressure& now);
  [[nodiscard]] GpuPressure now() const {
    return changes_.empty() ? GpuPressure{} : changes_.back().pressure;
  }
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
