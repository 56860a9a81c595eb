#include "simulate/pressure_window.hpp"

#include <vector>

#include "core/window_score.hpp"

namespace carpool::simulate {
void PressureWindow::change(double at_s, const GpuPressure& now) {
  if (!changes_.empty() && changes_.back().at_s == at_s) {
    changes_.back().pressure = now;
    return;
  }
  changes_.push_back({.at_s = at_s, .pressure = now});
  if (changes_.size() > kRemembered) {
    changes_.pop_front();
  }
}

GpuPressure PressureWindow::summary(const SimulationConstants& constants, double now_s) const {
  if (changes_.empty()) {
    return {};
  }
  if (changes_.back().at_s <= now_s - constants.window_s) {
    return changes_.back().pressure;  // it was constant for the whole window
  }
  const auto count = static_cast<std::size_t>(constants.window_s / constants.sample_s);
  std::vector<double> sm(count, 0.0);
  std::vector<double> occupancy(count, 0.0);
  std::vector<double> dram(count, 0.0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double then = now_s - constants.sample_s * static_cast<double>(count - 1 - i);
    while (at + 1 < changes_.size() && changes_[at + 1].at_s <= then) {
      ++at;
    }
    if (changes_[at].at_s <= then) {
      sm[i] = changes_[at].pressure.sm_active;
      occupancy[i] = changes_[at].pressure.sm_occupancy;
      dram[i] = changes_[at].pressure.dram_active;
    }
  }
  return {.sm_active = window_score(sm),
          .sm_occupancy = window_score(occupancy),
          .dram_active = window_score(dram)};
}

}  // namespace carpool::simulate
